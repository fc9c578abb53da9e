import type { EntryInfo as WireEntry } from "@boxyard/spec/pb/filesystem";
import { FileType } from "@boxyard/spec/pb/filesystem";

/** `unknown`: a link without an existing target, or an entry that is neither a file nor a directory. */
export type EntryType = "file" | "directory" | "unknown";

/** A file, directory or link in a sandbox. For a link, `type` and `mode` are those of its target. */
export interface EntryInfo {
  readonly name: string;
  readonly path: string;
  readonly type: EntryType;
  /** In bytes. */
  readonly size: number;
  /** Permission bits, e.g. `0o644`. */
  readonly mode: number;
  /** As `ls -l` shows it. */
  readonly permissions: string;
  readonly owner: string;
  readonly group: string;
  readonly modifiedTime: Date | undefined;
  readonly isSymlink: boolean;
  /** Final target of a link. */
  readonly symlinkTarget?: string;
  /** Your own keys and values, set at upload. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** A file that `write` or `compose` made. */
export interface WriteInfo {
  readonly path: string;
  readonly name: string;
  readonly type: EntryType;
  readonly metadata: Readonly<Record<string, string>>;
}

export type FileData = string | Uint8Array<ArrayBuffer> | ArrayBuffer | Blob | ReadableStream<Uint8Array>;

/** One of several files for `write`. */
export interface WriteEntry {
  readonly path: string;
  readonly data: FileData;
}

/** A symlink has a target, also where the agent's answer has no field that says so. */
export function entryFromWire(entry: WireEntry): EntryInfo {
  const time = entry.modifiedTime;
  return {
    name: entry.name,
    path: entry.path,
    type: entry.type === FileType.FILE ? "file" : entry.type === FileType.DIRECTORY ? "directory" : "unknown",
    size: Number(entry.size),
    mode: entry.mode,
    permissions: entry.permissions,
    owner: entry.owner,
    group: entry.group,
    modifiedTime: time ? new Date(Number(time.seconds) * 1000 + Math.floor(time.nanos / 1e6)) : undefined,
    isSymlink: entry.isSymlink || entry.symlinkTarget !== undefined,
    ...(entry.symlinkTarget === undefined ? {} : { symlinkTarget: entry.symlinkTarget }),
    metadata: entry.metadata,
  };
}

/** The agent is inside a sandbox, so its answers are looked at before they are used. */
export function writeInfoFrom(value: unknown): WriteInfo | undefined {
  const { path, name, type, metadata } = (value ?? {}) as Record<string, unknown>;
  if (typeof path !== "string" || typeof name !== "string") return undefined;
  return { path, name, type: type === "file" || type === "directory" ? type : "unknown", metadata: stringMap(metadata) };
}

function stringMap(value: unknown): Record<string, string> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).filter((e): e is [string, string] => typeof e[1] === "string"));
}
