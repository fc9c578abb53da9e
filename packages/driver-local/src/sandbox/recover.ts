import { existsSync, readdirSync, readFileSync } from "node:fs";
import { AppError, isAppError, isSandboxId, type SandboxId } from "@boxyard/core";
import { Generations } from "../checkpoint-store/generation.ts";
import { isAlive } from "../runtime/process.ts";
import type { DataPaths } from "../state/paths.ts";
import { copyOf, type LocalSandboxRecord, readRecord } from "../state/record.ts";
import { hasErrno } from "../sys/libc.ts";
import { cgroupOf, type LocalParts } from "./parts.ts";

/**
 * Registers the sandboxes of an earlier process with the parts that allocate, so that no address and no user id is given twice. Decides nothing:
 * the server says which of these sandboxes it keeps (`recover`) and which it removes (`destroy`).
 */
export function adoptSandboxes(parts: LocalParts, ids: readonly SandboxId[]): void {
  const records = ids.flatMap((id) => readRecord(parts.paths.state(id)) ?? []);
  parts.figures?.adopt(records);
  parts.uidRanges.adopt(ids.flatMap((id) => uidBaseOf(parts, id) ?? []));
  // A paused sandbox has released its address.
  const running = records.filter((record) => !mayBePaused(parts, record));
  const policies = new Map(running.map(({ lease, network }) => [lease, network]));
  parts.networks.adopt([...policies.keys()], (lease) => policies.get(lease));
}

/** As `isPaused`, but true when that cannot be read: neither a disk that was full nor a damaged file must prevent the start of the server. */
function mayBePaused(parts: LocalParts, record: LocalSandboxRecord): boolean {
  try {
    return isPaused(parts, record);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return true;
  }
}

/**
 * First user id of a sandbox's range. When its record is damaged, the id comes from its generation or from one of its processes, so that no other
 * sandbox is given the range. Undefined when there is none of these.
 */
export function uidBaseOf(parts: LocalParts, id: SandboxId): number | undefined {
  const record = readRecord(parts.paths.state(id));
  if (record) return record.uidBase;
  const kept = keptUidBase(parts, id);
  if (kept !== undefined) return kept;
  for (const pid of cgroupOf(parts, id).processes()) {
    const base = readMappedRoot(pid);
    if (base !== undefined) return base;
  }
  return undefined;
}

function keptUidBase(parts: LocalParts, id: SandboxId): number | undefined {
  try {
    return new Generations(parts.storage.generationsRoot, id).whole()?.uidBase;
  } catch (error) {
    if (isAppError(error, "bad_generation")) return undefined;
    throw error;
  }
}

/** The machine's user id of root in the user namespace of a process; undefined when the process has ended. */
function readMappedRoot(pid: number): number | undefined {
  try {
    const base = Number(/^\s*0\s+(\d+)/.exec(readFileSync(`/proc/${pid}/uid_map`, "utf8"))?.[1]);
    return base > 0 ? base : undefined;
  } catch {
    return undefined;
  }
}

/**
 * True when a sandbox has a state file or its copy but neither can be read, or when it has processes and no record. A create that was cut off
 * before it wrote its record has left neither files nor processes.
 */
export function isDamaged(parts: LocalParts, id: SandboxId): boolean {
  const path = parts.paths.state(id);
  if (readRecord(path)) return false;
  return [path, copyOf(path)].some((file) => existsSync(file)) || cgroupOf(parts, id).processes().length > 0;
}

/**
 * True if the stored state of the sandbox cannot be read: the pool is not mounted, or cannot read what it failed to write before, or the generation is damaged.
 */
const isUnreadable = (error: unknown) =>
  hasErrno(error, "EIO") || isAppError(error, "pool_not_mounted") || isAppError(error, "bad_generation");

/**
 * True when a whole generation of this incarnation exists: processes that still run are frozen orphans then. When that cannot be read: false for
 * a sandbox that runs unfrozen, since a pause freezes it first, and otherwise the error is thrown.
 */
export function isPaused(parts: LocalParts, record: LocalSandboxRecord): boolean {
  const { sandboxId, incarnation, process } = record;
  try {
    return new Generations(parts.storage.generationsRoot, sandboxId).whole()?.incarnation === incarnation;
  } catch (error) {
    if (isUnreadable(error) && process && isAlive(process) && !cgroupOf(parts, sandboxId).isFreezeRequested()) return false;
    throw error;
  }
}

/** Ids of the sandboxes of which anything is left, wherever it is. */
export async function sandboxesOnMachine({ cgroups, paths, storage }: LocalParts): Promise<SandboxId[]> {
  const ids = new Set<SandboxId>(cgroups.list());
  for (const name of [...readdirSync(paths.sandboxes), ...(await storage.listDisks())]) if (isSandboxId(name)) ids.add(name);
  return [...ids].sort();
}

/**
 * True when only the volume is left of a sandbox: the sandbox was destroyed while the pool took no writes, and the pool has been mounted anew
 * since, with the volume still in it.
 */
export function isDiskAlone({ cgroups, paths }: LocalParts, id: SandboxId): boolean {
  return ![paths.sandbox(id), ...cgroups.directoriesOf(id)].some((directory) => existsSync(directory));
}

/**
 * Ids of the sandboxes that stand on a layer. One whose record names no layers (an earlier version's), or is damaged, may stand on any. A create that has
 * not written its record yet looks for its layers afterwards.
 */
export function sandboxesOn(paths: DataPaths, digest: string): SandboxId[] {
  return readdirSync(paths.sandboxes)
    .filter(isSandboxId)
    .filter((id) => {
      const record = readRecord(paths.state(id));
      return record ? (record.layers?.includes(digest) ?? true) : existsSync(paths.state(id));
    });
}

/**
 * Ids of the sandboxes that have a volume; one whose record is damaged may have any. A create that has not written its record yet looks for its volumes
 * afterwards.
 */
export function sandboxesWith(paths: DataPaths, volume: string): SandboxId[] {
  return readdirSync(paths.sandboxes)
    .filter(isSandboxId)
    .filter((id) => {
      const record = readRecord(paths.state(id));
      return record ? (record.volumes ?? []).some((mount) => mount.volume === volume) : existsSync(paths.state(id));
    });
}

export function stateDamaged({ paths }: LocalParts, sandboxId: SandboxId): AppError {
  const message = `The record of sandbox ${sandboxId} on this machine is damaged: ${paths.state(sandboxId)} and its copy`;
  return new AppError("data_loss", message, { reason: "state_damaged" });
}
