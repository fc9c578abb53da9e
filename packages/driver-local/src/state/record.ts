import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readFileSync, writeSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { isSandboxId, type SandboxId } from "@boxyard/core";
import {
  type EgressPolicy,
  type EndReason,
  type KeptSpec,
  type ResourceLimits,
  type Restrictions,
  type VolumeMount,
  withoutEdge,
} from "@boxyard/driver";
import type { NetworkLease } from "../parts.ts";
import { hasErrno } from "../sys/libc.ts";

/** PID 1 of a sandbox as the machine sees it. Pids are used again, so the start time and the boot are part of it. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Field 22 of /proc/<pid>/stat. */
  readonly startTicks: number;
  /** Of /proc/sys/kernel/random/boot_id: pid and ticks mean nothing after a reboot. */
  readonly bootId: string;
}

/** What state.json of a sandbox holds: all that `recover` and `destroy` need. Written before the action that it describes. */
export interface LocalSandboxRecord {
  readonly version: 1;
  readonly sandboxId: SandboxId;
  readonly incarnation: number;
  /** First id of the sandbox's range on this machine. */
  readonly uidBase: number;
  /** First id of the range of the owners on its volume, where it is not `uidBase`: the volume began as a copy of another sandbox's disk. */
  readonly diskUidBase?: number;
  /** Host name of the sandbox. Records of earlier versions lack it. */
  readonly hostname?: string;
  /** Id of the snapshot with memory that `start` restores; removed from the record after that. */
  readonly startsFrom?: string;
  readonly resources: ResourceLimits;
  readonly network: EgressPolicy;
  readonly labels: Readonly<Record<string, string>>;
  /** Digests of the layers it stands on. Records of earlier versions lack it. */
  readonly layers?: readonly string[];
  /** Volumes that it sees. */
  readonly volumes?: readonly VolumeMount[];
  /** For a server that has lost its store (`SandboxDriver.keptSpec`). Records of earlier versions lack these. */
  readonly imageDigest?: string;
  readonly restrictions?: Restrictions;
  readonly initKey?: string;
  readonly lease: NetworkLease;
  /** Set once the runtime has made the sandbox. */
  readonly process?: ProcessIdentity;
  /** Identity of the boot that the sandbox shows, since its last start from a disk. Records of earlier versions lack it. */
  readonly bootId?: string;
  /** Bytes on its disk that the kernel charges to another volume, because the disk was made from a kept one. */
  readonly diskBaseBytes?: number;
  /** What its volume may hold, where that is less than `resources.diskBytes`: what the volume began with counts too. */
  readonly diskQuotaBytes?: number;
  /** Why the sandbox ends, when the driver was told to end it; written before it ends. */
  readonly ending?: EndReason;
}

export const diskUidBaseOf = ({ diskUidBase, uidBase }: Pick<LocalSandboxRecord, "diskUidBase" | "uidBase">): number =>
  diskUidBase ?? uidBase;

export const diskQuotaOf = ({ diskQuotaBytes, resources }: Pick<LocalSandboxRecord, "diskQuotaBytes" | "resources">): number =>
  diskQuotaBytes ?? resources.diskBytes;

export function keptSpecOf(record: LocalSandboxRecord): KeptSpec {
  const { sandboxId, incarnation, resources, network, labels, layers = [], imageDigest, restrictions, initKey, volumes } = record;
  return {
    ...{ sandboxId, incarnation, resources, network, labels },
    image: { layers, ...(imageDigest !== undefined && { digest: imageDigest }) },
    ...(restrictions && { restrictions }),
    ...(volumes && { volumes }),
    ...(initKey !== undefined && { initKey }),
  };
}

let writes = 0;

/** Writes a file so that a reader, also after a crash, sees the old text or the new one. A write that fails leaves no temporary file. */
async function writeAtomically(path: string, text: string): Promise<void> {
  // Two calls may write the same file at a time.
  const temporary = `${path}.${++writes}.new`;
  try {
    await writeFile(temporary, text, { mode: 0o600 });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}

/** Path of a record's copy: a sandbox must not be lost when one file is damaged. */
export const copyOf = (path: string): string => path.replace(/\.json$/, ".copy.json");

/** Writes the record and its copy, each with a checksum, without what its policy may hold of secrets. What is in their place and cannot be replaced (a directory) is moved aside. */
export async function writeRecord(path: string, record: LocalSandboxRecord): Promise<void> {
  const text = textOf(record);
  await Promise.all([path, copyOf(path)].map((file) => writeOver(file, text)));
}

function textOf(record: LocalSandboxRecord): string {
  const kept = { ...record, network: withoutEdge(record.network) };
  return `${JSON.stringify({ ...kept, checksum: checksumOf(JSON.stringify(kept)) })}\n`;
}

/**
 * As `writeRecord`, in a fraction of its time: new files cost ten times as much as the bytes of old ones, and threads are waited for. Writes into the files
 * that are there, the copy first: a process that dies in between leaves the old record, and a machine that dies one of both whole.
 */
export async function rewriteRecord(path: string, record: LocalSandboxRecord): Promise<void> {
  const bytes = Buffer.from(textOf(record));
  try {
    for (const file of [copyOf(path), path]) writeInto(file, bytes);
  } catch {
    // One of the two is missing, or something else is in its place.
    await writeRecord(path, record);
  }
}

/** Fills up with spaces what the file had more, for JSON may end with any: cut off before or after the write, the file would be none for a moment. */
function writeInto(path: string, bytes: Buffer): void {
  const fd = openSync(path, "r+");
  try {
    const all = Buffer.alloc(Math.max(bytes.length, fstatSync(fd).size), " ");
    all.set(bytes);
    if (writeSync(fd, all, 0, all.length, 0) < all.length) throw new Error("written in part");
  } finally {
    closeSync(fd);
  }
}

async function writeOver(path: string, text: string): Promise<void> {
  try {
    await writeAtomically(path, text);
  } catch (error) {
    if (!hasErrno(error, "EISDIR", "ENOTEMPTY", "EEXIST")) throw error;
    await rename(path, `${path}.${++writes}.damaged`);
    await writeAtomically(path, text);
  }
}

const checksumOf = (body: string): string => createHash("sha256").update(body).digest("hex");

/**
 * The record at `path`, or the one in its copy when the first is damaged or cannot be read; undefined when neither is whole (a machine that lost
 * power, an older version): a bad file of one sandbox must not stop the others. Throws only errors that say nothing about the file: the process or
 * the machine has no free descriptor or memory at the moment. A sandbox must not be taken for lost, and ended, because of that.
 */
export function readRecord(path: string): LocalSandboxRecord | undefined {
  return readOne(path) ?? readOne(copyOf(path));
}

function readOne(path: string): LocalSandboxRecord | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (!isObject(value)) return undefined;
    const { checksum, ...record } = value;
    // Records of earlier versions have none.
    if (checksum !== undefined && checksum !== checksumOf(JSON.stringify(record))) return undefined;
    return isRecord(record) ? record : undefined;
  } catch (error) {
    if (hasErrno(error, "EMFILE", "ENFILE", "ENOMEM", "EAGAIN")) throw error;
    return undefined;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

function isProcess(value: unknown): boolean {
  return isObject(value) && Number.isInteger(value.pid) && Number.isInteger(value.startTicks) && typeof value.bootId === "string";
}

function isRecord(value: unknown): value is LocalSandboxRecord {
  return (
    isObject(value) &&
    value.version === 1 &&
    typeof value.sandboxId === "string" &&
    isSandboxId(value.sandboxId) &&
    Number.isInteger(value.incarnation) &&
    Number.isInteger(value.uidBase) &&
    isObject(value.resources) &&
    isObject(value.network) &&
    isObject(value.labels) &&
    (value.layers === undefined || Array.isArray(value.layers)) &&
    (value.volumes === undefined || Array.isArray(value.volumes)) &&
    isObject(value.lease) &&
    (value.process === undefined || isProcess(value.process))
  );
}

/** Notes why a sandbox ends, before it is ended; the first reason stays. */
export async function noteEnding(path: string, record: LocalSandboxRecord, ending: EndReason): Promise<void> {
  if (record.ending) return;
  try {
    await writeRecord(path, { ...record, ending });
  } catch (error) {
    // A disk that takes no writes must not prevent the end of a sandbox; the reason is then `agent_exited`.
    if (!hasErrno(error, "ENOSPC", "EDQUOT", "EROFS", "EIO")) throw error;
  }
}
