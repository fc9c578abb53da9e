import { existsSync, readdirSync, readFileSync } from "node:fs";
import { AppError, isSandboxId, type SandboxId } from "@boxyard/core";
import { Generations } from "./checkpoint/generation.ts";
import { isAlive } from "./runtime/process.ts";
import { cgroupOf, type LocalParts } from "./sandbox.ts";
import type { DataPaths } from "./state/paths.ts";
import { copyOf, type LocalSandboxRecord, readRecord } from "./state/record.ts";
import { hasErrno } from "./sys/libc.ts";

/**
 * Makes the sandboxes that an earlier process left known to the parts that hand things out, so that no address and no user id is given
 * twice. Judges nothing: which of them live on and which go is the server's to say, by `recover` and `destroy`.
 */
export function adoptSandboxes(parts: LocalParts, ids: readonly SandboxId[]): void {
  const records = ids.flatMap((id) => readRecord(parts.paths.state(id)) ?? []);
  parts.figures?.adopt(records);
  parts.uidRanges.adopt(ids.flatMap((id) => uidBaseOf(parts, id) ?? []));
  // A paused one has given its address back.
  parts.networks.adopt(records.filter((record) => !mayBePaused(parts, record)).map((record) => record.lease));
}

/** Also of one that nothing runs of and whose generations cannot be read: a disk that was full does not keep the server from its start. */
function mayBePaused(parts: LocalParts, record: LocalSandboxRecord): boolean {
  try {
    return isPaused(parts, record);
  } catch (error) {
    if (!isUntold(error)) throw error;
    return true;
  }
}

/** First id of a sandbox's range; of one whose record is damaged by what is kept or runs of it, so that nobody else is given the range. */
export function uidBaseOf(parts: LocalParts, id: SandboxId): number | undefined {
  const record = readRecord(parts.paths.state(id));
  if (record) return record.uidBase;
  const kept = new Generations(parts.storage.generationsRoot, id).whole();
  if (kept) return kept.uidBase;
  for (const pid of cgroupOf(parts, id).processes()) {
    const base = readMappedRoot(pid);
    if (base !== undefined) return base;
  }
  return undefined;
}

/** The machine's id of the root of a process; undefined when it has ended. */
function readMappedRoot(pid: number): number | undefined {
  try {
    const base = Number(/^\s*0\s+(\d+)/.exec(readFileSync(`/proc/${pid}/uid_map`, "utf8"))?.[1]);
    return base > 0 ? base : undefined;
  } catch {
    return undefined;
  }
}

/**
 * True when the record of a sandbox was there and can be read no more, neither the file nor its copy, or when something runs that has none.
 * A create that was cut off before it wrote its record has neither.
 */
export function isDamaged(parts: LocalParts, id: SandboxId): boolean {
  const path = parts.paths.state(id);
  if (readRecord(path)) return false;
  return [path, copyOf(path)].some((file) => existsSync(file)) || cgroupOf(parts, id).processes().length > 0;
}

/** The pool is not mounted, or a file system that could not be written does not read what it has lost. */
const isUntold = (error: unknown) => hasErrno(error, "EIO") || (error instanceof AppError && error.reason === "pool_not_mounted");

/**
 * A whole generation of this very incarnation is there: whatever still runs of it is a remainder. Throws when that cannot be told (`isUntold`). What lives and is
 * not frozen was not kept.
 */
export function isPaused(parts: LocalParts, record: LocalSandboxRecord): boolean {
  const { sandboxId, incarnation, process } = record;
  try {
    return new Generations(parts.storage.generationsRoot, sandboxId).whole()?.incarnation === incarnation;
  } catch (error) {
    if (isUntold(error) && process && isAlive(process) && !cgroupOf(parts, sandboxId).isToBeFrozen()) return false;
    throw error;
  }
}

/** Ids of the sandboxes of which anything is left, wherever it is. */
export async function sandboxesOnMachine({ cgroups, paths, storage }: LocalParts): Promise<SandboxId[]> {
  const ids = new Set<SandboxId>(cgroups.list());
  for (const name of [...readdirSync(paths.sandboxes), ...(await storage.listVolumes())]) if (isSandboxId(name)) ids.add(name);
  return [...ids].sort();
}

/**
 * True when nothing but a volume is left of a sandbox: it was destroyed while the pool took no writes, which is mounted anew since. Whatever else of
 * it there is goes after that.
 */
export function isVolumeAlone({ cgroups, paths }: LocalParts, id: SandboxId): boolean {
  return ![paths.sandbox(id), ...cgroups.directoriesOf(id)].some((directory) => existsSync(directory));
}

/** Ids of the sandboxes that stand on a layer. One whose record does not say what it stands on may stand on any. */
export function sandboxesOn(paths: DataPaths, digest: string): SandboxId[] {
  return readdirSync(paths.sandboxes)
    .filter(isSandboxId)
    .filter((id) => {
      const record = readRecord(paths.state(id));
      return record !== undefined && (record.layers?.includes(digest) ?? true);
    });
}
