import { AppError, Cleanup, isAppError, isSandboxId, runSteps } from "@boxyard/core";
import { fromErrno } from "@boxyard/core/node";
import {
  type AgentAddress,
  type Capacity,
  checkLabels,
  type ExitStatus,
  type Fingerprint,
  type KeptSpec,
  type Reclaim,
  type ResourceStats,
  type RuntimeCapabilities,
  type RuntimeDriver,
  type RuntimeStatus,
  type SandboxHandle,
  type SandboxSpec,
  type Signal,
} from "@boxyard/driver";
import { useOfInstance } from "../cgroup/instance-limits.ts";
import { readOomKills } from "../cgroup/stats.ts";
import { isMemoryLost } from "../checkpoint/lazy-memory.ts";
import type { SnapshotSource } from "../checkpoint-store/snapshot-files.ts";
import { openProcess } from "../runtime/process.ts";
import { readAccount } from "../sandbox/account.ts";
import { claimSandbox } from "../sandbox/claim.ts";
import { waitUntilEnded } from "../sandbox/ended.ts";
import { cgroupOf, type LocalParts } from "../sandbox/parts.ts";
import { isDamaged, isDiskAlone, sandboxesOnMachine } from "../sandbox/recover.ts";
import { resizeSandbox } from "../sandbox/resize.ts";
import { DRIVER_NAME, handleOf, type LocalSandboxes, notFound } from "../sandbox/sandboxes.ts";
import { removeSandbox } from "../sandbox/teardown.ts";
import type { LocalSnapshots } from "../snapshots/local-snapshots.ts";
import { createFromDiskSteps, createFromMemorySteps, startFromMemorySteps } from "../snapshots/steps.ts";
import { keptSpecOf, type LocalSandboxRecord, noteEnding, readRecord, rewriteRecord } from "../state/record.ts";
import { AGENT_PORT } from "../steps/await-agent.ts";
import { createSteps, startSteps } from "../steps/index.ts";
import { close, hasErrno, pidfdSendSignal } from "../sys/libc.ts";
import { validateSpec } from "../validate.ts";
import { cpuTimesOf } from "./cpu-times.ts";
import type { FrozenOrphans } from "./frozen-orphans.ts";
import { TRIAL_OF } from "./trial.ts";

const SIGTERM = 15;

export interface LocalRuntimeParts {
  readonly parts: LocalParts;
  readonly sandboxes: LocalSandboxes;
  readonly snapshots: LocalSnapshots;
  readonly frozenOrphans: FrozenOrphans;
  readonly fingerprint: () => Promise<Fingerprint>;
}

/** The runtime part of the driver: `steps/` make a sandbox, `teardown.ts` removes it, and everything else is read from the kernel. */
export class LocalRuntime implements RuntimeDriver {
  readonly name = DRIVER_NAME;
  readonly capabilities: RuntimeCapabilities = { freeze: true, resize: true, resizeDisk: true, relabel: "local", setsMemoryAside: false };
  private readonly parts: LocalParts;
  private readonly sandboxes: LocalSandboxes;
  private readonly snapshots: LocalSnapshots;
  private readonly frozenOrphans: FrozenOrphans;
  private readonly fingerprinter: () => Promise<Fingerprint>;

  constructor({ parts, sandboxes, snapshots, frozenOrphans, fingerprint }: LocalRuntimeParts) {
    this.parts = parts;
    this.sandboxes = sandboxes;
    this.snapshots = snapshots;
    this.frozenOrphans = frozenOrphans;
    this.fingerprinter = fingerprint;
  }

  fingerprint(): Promise<Fingerprint> {
    return this.fingerprinter();
  }

  async capacity(): Promise<Capacity> {
    const { cgroups, limits, storage } = this.parts;
    return {
      memoryLimitBytes: limits.memoryBytes,
      processLimit: limits.processes,
      ...useOfInstance(cgroups, limits),
      ...storage.room(),
    };
  }

  reclaim(wanted: Reclaim): Promise<boolean> {
    return this.parts.wakeCache.reclaim(wanted);
  }

  create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    return this.sandboxes.inTurn(spec.sandboxId, async () => {
      validateSpec(spec);
      signal.throwIfAborted();
      return this.snapshots.useFor(spec, (from) => this.make(spec, from, signal));
    });
  }

  private async make(spec: SandboxSpec, from: SnapshotSource | undefined, signal: AbortSignal): Promise<SandboxHandle> {
    const undo = new Cleanup(this.parts.onUndoError);
    const ctx = await claimSandbox(this.parts, spec, undo, from);
    const copySteps = spec.from?.memory ? createFromMemorySteps : createFromDiskSteps;
    try {
      await runSteps(from ? copySteps : createSteps, ctx, undo, signal, this.parts.observer);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw fromErrno(`create sandbox ${spec.sandboxId}`, error);
    }
    undo.disarm();
    return handleOf(ctx.record);
  }

  start(handle: SandboxHandle, signal: AbortSignal, { isUnawaited = false } = {}): Promise<void> {
    return this.sandboxes.inTurn(handle.sandboxId, async () => {
      const record = this.sandboxes.find(handle);
      if (this.sandboxes.phaseOf(record) !== "created") {
        throw new AppError("failed_precondition", `Sandbox ${handle.sandboxId} has been started before`, { reason: "already_started" });
      }
      const undo = new Cleanup(this.parts.onUndoError);
      undo.add("sandbox", () => removeSandbox(this.parts, record.sandboxId));
      try {
        await this.run(record, isUnawaited, undo, signal);
      } catch (error) {
        await undo.run();
        if (signal.aborted) throw signal.reason;
        throw fromErrno(`start sandbox ${handle.sandboxId}`, error);
      }
      undo.disarm();
    });
  }

  /** The steps of a start. */
  private run(record: LocalSandboxRecord, isUnawaited: boolean, undo: Cleanup, signal: AbortSignal): Promise<void> {
    const { parts } = this;
    const { sandboxId, startsFrom } = record;
    if (startsFrom === undefined) return runSteps(startSteps, { parts, record, isUnawaited }, undo, signal, parts.observer);
    const found = { parts, record, isUnawaited, volume: parts.storage.diskPath(sandboxId), cgroup: cgroupOf(parts, sandboxId) };
    const restore = (from: SnapshotSource) => runSteps(startFromMemorySteps, { ...found, from }, undo, signal, parts.observer);
    return this.snapshots.use(startsFrom, restore);
  }

  async recover(handle: SandboxHandle): Promise<RuntimeStatus> {
    const status = await this.inspect(handle);
    // Its record may have been damaged when this driver was opened, and repaired since.
    const { lease, network } = this.sandboxes.find(handle);
    if (status.phase === "running") this.parts.networks.adopt([lease], () => network);
    return status;
  }

  async inspect(handle: SandboxHandle): Promise<RuntimeStatus> {
    const record = this.sandboxes.find(handle);
    const phase = this.sandboxes.phaseOf(record);
    return {
      handle: handleOf(record),
      phase,
      frozen: phase === "running" && cgroupOf(this.parts, record.sandboxId).isFreezeRequested(),
      labels: record.labels,
      ...(phase === "stopped" && { exit: this.exitOf(record) }),
    };
  }

  async stats(handle: SandboxHandle): Promise<ResourceStats> {
    const record = this.sandboxes.find(handle);
    try {
      return await readAccount(this.parts, record);
    } catch (error) {
      if (hasErrno(error, "ENOENT", "ENODEV") || isAppError(error, "not_found")) throw notFound(handle);
      throw fromErrno(`stats of ${record.sandboxId}`, error);
    }
  }

  cpuTimes: RuntimeDriver["cpuTimes"] = (handles) => cpuTimesOf(this.parts, handles);

  async address(handle: SandboxHandle): Promise<AgentAddress> {
    return { host: this.sandboxes.find(handle).lease.address, agentPort: AGENT_PORT };
  }

  async keptSpec(handle: SandboxHandle): Promise<KeptSpec> {
    return keptSpecOf(this.sandboxes.find(handle));
  }

  signal(handle: SandboxHandle, signal: Signal): Promise<void> {
    return this.sandboxes.inTurn(handle.sandboxId, async () => {
      const record = this.sandboxes.find(handle);
      const pidfd = this.sandboxes.phaseOf(record) === "running" && record.process ? openProcess(record.process) : undefined;
      if (pidfd === undefined) throw notFound(handle);
      try {
        await noteEnding(this.parts.paths.state(record.sandboxId), record, "killed");
        if (signal === "SIGKILL") cgroupOf(this.parts, record.sandboxId).kill();
        else pidfdSendSignal(pidfd, SIGTERM);
      } catch (error) {
        if (hasErrno(error, "ESRCH")) throw notFound(handle);
        throw error;
      } finally {
        close(pidfd);
      }
    });
  }

  async wait(handle: SandboxHandle, signal: AbortSignal): Promise<ExitStatus> {
    const record = this.sandboxes.find(handle);
    if (this.sandboxes.phaseOf(record) === "created") return { reason: "unknown" };
    if (record.process) await waitUntilEnded(record.process, cgroupOf(this.parts, record.sandboxId), this.parts.clock, signal);
    const now = readRecord(this.parts.paths.state(record.sandboxId));
    // Without a record of this incarnation it was destroyed meanwhile.
    return now?.incarnation === record.incarnation ? this.exitOf(now) : { reason: "killed" };
  }

  freeze(handle: SandboxHandle): Promise<void> {
    return this.setFrozen(handle, true);
  }

  async thaw(handle: SandboxHandle): Promise<void> {
    await this.setFrozen(handle, false);
  }

  resize: RuntimeDriver["resize"] = (handle, resources) =>
    this.sandboxes.whileRunning(handle, (record) => resizeSandbox(this.parts, record, resources));

  relabel: RuntimeDriver["relabel"] = (handle, labels) =>
    this.sandboxes.whileRunning(handle, async (record) => {
      checkLabels(labels);
      await rewriteRecord(this.parts.paths.state(record.sandboxId), { ...record, labels });
    });

  destroy(handle: SandboxHandle): Promise<void> {
    return this.sandboxes.inTurn(handle.sandboxId, async () => {
      if (!isSandboxId(handle.sandboxId)) throw new AppError("invalid_argument", "Not a sandbox id", { reason: "invalid_sandbox_id" });
      const record = readRecord(this.parts.paths.state(handle.sandboxId));
      // The incarnation of an older handle is gone already; a newer incarnation does not belong to this handle.
      if (record && record.incarnation !== handle.incarnation) return;
      try {
        await this.sandboxes.whileDestroying(record, () => removeSandbox(this.parts, handle.sandboxId));
      } catch (error) {
        throw fromErrno(`destroy sandbox ${handle.sandboxId}`, error);
      }
    });
  }

  async list(): Promise<readonly SandboxHandle[]> {
    return (await sandboxesOnMachine(this.parts)).flatMap((sandboxId) => {
      const record = readRecord(this.parts.paths.state(sandboxId));
      // The driver's own, which it removes itself.
      if (record && TRIAL_OF in record.labels) return [];
      // Without a whole state file only `destroy` works, and it accepts any incarnation then.
      return [record ? handleOf(record) : { driver: DRIVER_NAME, sandboxId, incarnation: 1 }];
    });
  }

  async close(): Promise<void> {
    this.parts.guard.close();
    this.parts.figures?.close();
    this.parts.fileEvents?.close();
    await this.frozenOrphans.close();
    await this.parts.spareChildren.close();
    this.parts.forkServer.close();
    await this.parts.networks.close();
    await this.parts.storage.close();
  }

  async release(): Promise<void> {
    const all = await this.list();
    const left = all.filter(({ sandboxId }) => !isDiskAlone(this.parts, sandboxId));
    if (left.length > 0) {
      throw new AppError("failed_precondition", `${left.length} sandboxes are left; destroy them first`, { reason: "sandboxes_left" });
    }
    for (const volume of all) await this.destroy(volume);
    this.parts.guard.close();
    // What a killed server has left of a trial is in no list.
    await this.frozenOrphans.close();
    this.parts.figures?.close();
    this.parts.fileEvents?.close();
    await this.parts.spareChildren.close();
    this.parts.forkServer.close();
    this.parts.uidRanges.release();
    await this.parts.networks.release();
    await this.parts.storage.release();
    this.parts.cgroups.remove();
  }

  private async setFrozen(handle: SandboxHandle, frozen: boolean): Promise<void> {
    await this.sandboxes.inTurn(handle.sandboxId, async () => {
      if (frozen && isSandboxId(handle.sandboxId) && isDamaged(this.parts, handle.sandboxId)) {
        return cgroupOf(this.parts, handle.sandboxId).freeze(true);
      }
      const record = this.sandboxes.find(handle);
      if (this.sandboxes.phaseOf(record) !== "running") throw notFound(handle);
      const cgroup = cgroupOf(this.parts, record.sandboxId);
      // A thaw includes the groups of commands, which the agent may have frozen for a pause that did not follow.
      if (frozen) await cgroup.freeze(true);
      else await cgroup.thawAll([]);
    });
  }

  /** Why a sandbox that is no longer alive has ended. The kernel's counter says whether memory ran out, but not when: it may have been long before. */
  private exitOf(record: LocalSandboxRecord): ExitStatus {
    if (record.ending) return { reason: record.ending };
    if (this.sandboxes.isDestroyed(record)) return { reason: "killed" };
    if (isMemoryLost(this.parts, record.sandboxId)) return { reason: "memory_lost" };
    return { reason: readOomKills(cgroupOf(this.parts, record.sandboxId)) > 0 ? "out_of_memory" : "agent_exited" };
  }
}
