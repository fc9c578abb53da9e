import { checkVolumeDepth, MAX_VOLUME_ENTRIES, tooManyEntries, type VolumeEntry } from "@boxyard/driver";
import { namesIn, readlinkAt, type Stat, statAt, statFd, TYPE, typeOf, withOpen } from "../sys/at.ts";
import { hasErrno, O } from "../sys/libc.ts";
import { byteName, textName } from "./places.ts";
import { pathNotFound } from "./refusals.ts";

const KINDS: Readonly<Record<number, VolumeEntry["type"]>> = {
  [TYPE.file]: "file",
  [TYPE.directory]: "directory",
  [TYPE.symlink]: "symlink",
};
const PERMISSIONS = 0o7777;
const PER_SECOND = 1_000;

function entry(parts: readonly string[], stat: Stat, target?: string): VolumeEntry {
  return {
    name: parts.at(-1) ?? "",
    path: `/${parts.join("/")}`,
    type: KINDS[typeOf(stat)] ?? "unknown",
    sizeBytes: typeOf(stat) === TYPE.directory ? 0 : stat.size,
    ...{ mode: stat.mode & PERMISSIONS, uid: stat.uid, gid: stat.gid },
    accessedAt: stat.atimeMs,
    modifiedAt: stat.mtimeSec * PER_SECOND + Math.floor(stat.mtimeNsec / 1e6),
    changedAt: stat.ctimeMs,
    ...(target !== undefined && { target }),
  };
}

/** The entry of an open file. */
export const entryOf = (fd: number, parts: readonly string[]): VolumeEntry => entry(parts, statFd(fd));

/** The entry of the last name of `parts` in the open directory that holds it. */
export function entryAt(directory: number, parts: readonly string[]): VolumeEntry {
  const found = find(directory, byteName(parts.at(-1) ?? "."), parts);
  if (!found) throw pathNotFound(parts.join("/"));
  return found;
}

function find(directory: number, name: string, parts: readonly string[]): VolumeEntry | undefined {
  const stat = statAt(directory, name);
  if (!stat) return undefined;
  return entry(parts, stat, typeOf(stat) === TYPE.symlink ? targetOf(directory, name) : undefined);
}

/** Undefined when it was replaced meanwhile. */
function targetOf(directory: number, name: string): string | undefined {
  try {
    return textName(readlinkAt(directory, name));
  } catch (error) {
    if (hasErrno(error, "ENOENT", "EINVAL")) return undefined;
    throw error;
  }
}

/** What a directory holds, down to `depth` levels, sorted by path. */
export function listTree(directory: number, parts: readonly string[], depth: number): VolumeEntry[] {
  checkVolumeDepth(depth);
  const found: VolumeEntry[] = [];
  collect(directory, parts, depth, found);
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function collect(directory: number, parts: readonly string[], depth: number, found: VolumeEntry[]): void {
  for (const name of namesIn(directory, MAX_VOLUME_ENTRIES)) {
    const below = [...parts, textName(name)];
    const one = find(directory, name, below);
    if (!one) continue;
    if (found.length >= MAX_VOLUME_ENTRIES) throw tooManyEntries();
    found.push(one);
    if (one.type === "directory" && depth > 1) enter(directory, name, (child) => collect(child, below, depth - 1, found));
  }
}

/** Does nothing when the directory was removed or replaced meanwhile. */
function enter(directory: number, name: string, work: (fd: number) => void): void {
  try {
    withOpen(directory, name, O.DIRECTORY, work);
  } catch (error) {
    if (!hasErrno(error, "ENOENT", "ENOTDIR", "ELOOP")) throw error;
  }
}
