import { AppError, isSandboxId, type SandboxId } from "@boxyard/core";
import type { RuntimePhase, SandboxHandle } from "@boxyard/driver";
import { isAlive } from "../runtime/process.ts";
import { diskUidBaseOf, type LocalSandboxRecord, type ProcessIdentity, readRecord } from "../state/record.ts";
import { cgroupOf, type LocalParts } from "./parts.ts";
import { isDamaged, isPaused, stateDamaged } from "./recover.ts";

export const DRIVER_NAME = "local";

export type RunningRecord = LocalSandboxRecord & { readonly process: ProcessIdentity };

/**
 * Finds the sandboxes of this machine for the parts of the driver, and serializes changes of each. Keeps no record of them in memory: each answer
 * comes from the state file and the kernel.
 */
export class LocalSandboxes {
  private readonly parts: LocalParts;
  /** Incarnations whose processes a removal ends, until nothing of them is left. In memory alone: no server asks after its death why they ended. */
  private readonly destroyed = new Map<SandboxId, number>();

  constructor(parts: LocalParts) {
    this.parts = parts;
  }

  /** Runs `work` after all changes of the sandbox that were asked for before. */
  inTurn<T>(sandboxId: SandboxId, work: () => Promise<T>): Promise<T> {
    return this.parts.turns.run(sandboxId, work);
  }

  /** The record behind a handle; `data_loss` when it is damaged, `not_found` for another incarnation and for a create that was cut off. */
  find(handle: SandboxHandle): LocalSandboxRecord {
    const record = isSandboxId(handle.sandboxId) ? readRecord(this.parts.paths.state(handle.sandboxId)) : undefined;
    if (!record && isSandboxId(handle.sandboxId) && isDamaged(this.parts, handle.sandboxId))
      throw stateDamaged(this.parts, handle.sandboxId);
    const isWhole = record?.process !== undefined || record?.startsFrom !== undefined;
    if (!isWhole || record.incarnation !== handle.incarnation) throw notFound(handle);
    return record;
  }

  /** As `find`, for a running sandbox; `not_found` when it does not run. */
  findRunning(handle: SandboxHandle): RunningRecord {
    const { process, ...record } = this.find(handle);
    if (!process || this.phaseOf({ ...record, process }) !== "running") throw notFound(handle);
    return { ...record, process };
  }

  phaseOf(record: LocalSandboxRecord): RuntimePhase {
    if (isPaused(this.parts, record)) return "paused";
    if (record.startsFrom !== undefined) return "created";
    if (!record.process || !isAlive(record.process)) return "stopped";
    return this.parts.runtime.isWaiting(record.sandboxId) ? "created" : "running";
  }

  /** Runs the removal of a sandbox, in its turn. Its processes count as killed when they run now. */
  async whileDestroying(record: LocalSandboxRecord | undefined, work: () => Promise<void>): Promise<void> {
    if (record?.process && isAlive(record.process)) this.destroyed.set(record.sandboxId, record.incarnation);
    await work();
    // Not after a failure: what is left is still killed.
    if (record) this.destroyed.delete(record.sandboxId);
  }

  isDestroyed({ sandboxId, incarnation }: LocalSandboxRecord): boolean {
    return this.destroyed.get(sandboxId) === incarnation;
  }

  /** Runs `work` with a running sandbox in its turn. */
  whileRunning<T>(handle: SandboxHandle, work: (record: RunningRecord) => Promise<T>): Promise<T> {
    return this.inTurn(handle.sandboxId, async () => work(this.findRunning(handle)));
  }

  /** Runs `work` while no process of the sandbox writes and no call thaws or removes it: for a commit. A running sandbox must be frozen already. */
  whileStill<T>(handle: SandboxHandle, work: (facts: { volume: string; uidBase: number }) => Promise<T>): Promise<T> {
    return this.inTurn(handle.sandboxId, async () => {
      const record = this.find(handle);
      const { sandboxId } = record;
      if (this.phaseOf(record) === "running") {
        const cgroup = cgroupOf(this.parts, sandboxId);
        if (!cgroup.isFreezeRequested()) {
          throw new AppError("failed_precondition", `Sandbox ${sandboxId} runs; freeze it first`, { reason: "sandbox_running" });
        }
        await cgroup.freeze(true);
      }
      return work({ volume: this.parts.storage.diskPath(sandboxId), uidBase: diskUidBaseOf(record) });
    });
  }
}

export const notFound = (handle: SandboxHandle) =>
  new AppError("not_found", `There is no sandbox ${handle.sandboxId} (incarnation ${handle.incarnation}) on this machine`, {
    reason: "sandbox_not_found",
  });

export function handleOf(record: LocalSandboxRecord): SandboxHandle {
  return { driver: DRIVER_NAME, sandboxId: record.sandboxId, incarnation: record.incarnation };
}
