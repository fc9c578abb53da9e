import { existsSync, readdirSync } from "node:fs";
import { AppError, Cleanup, isAppError, isSandboxId, runSteps, type SandboxId, SerialQueues } from "@boxyard/core";
import { fromErrno } from "@boxyard/core/node";
import type {
  AgentAddress,
  Capacity,
  DriverCapabilities,
  EgressPolicy,
  ExitStatus,
  Fingerprint,
  Generation,
  ImageStore,
  KeptSpec,
  PauseOptions,
  Reclaim,
  ResourceStats,
  RuntimePhase,
  RuntimeStatus,
  SandboxDriver,
  SandboxHandle,
  SandboxSpec,
  Signal,
} from "@boxyard/driver";
import { readAccount } from "./account.ts";
import { waitUntilEnded } from "./cgroup/ended.ts";
import { useOfInstance } from "./cgroup/instance-limits.ts";
import { readOomKills } from "./cgroup/stats.ts";
import { Generations } from "./checkpoint/generation.ts";
import { freeSandbox, generationOf, pauseSandbox } from "./checkpoint/pause.ts";
import { resumeBy, resumeSandbox, revertSandbox } from "./checkpoint/resume.ts";
import { LayerStore, LocalImages } from "./images/index.ts";
import { connectInside } from "./network/connect-inside.ts";
import { isDamaged, isPaused, sandboxesOn, sandboxesOnMachine } from "./recover.ts";
import { reserve } from "./reserve.ts";
import { isAlive, openProcess } from "./runtime/process.ts";
import { cgroupOf, type LocalParts } from "./sandbox.ts";
import { LocalSnapshots, type WhileRunning } from "./snapshots/local-snapshots.ts";
import type { SnapshotSource } from "./snapshots/snapshot-files.ts";
import {
  createFromDiskSteps,
  createFromMemorySteps,
  rollBackToDiskSteps,
  rollBackToMemorySteps,
  startFromMemorySteps,
} from "./snapshots/steps.ts";
import { diskUidBaseOf, keptSpecOf, type LocalSandboxRecord, type ProcessIdentity, readRecord, writeRecord } from "./state/record.ts";
import { AGENT_PORT } from "./steps/await-agent.ts";
import { createSteps, startSteps } from "./steps/index.ts";
import { close, hasErrno, pidfdSendSignal } from "./sys/libc.ts";
import { removeSandbox } from "./teardown.ts";
import { validateEgress, validateSpec } from "./validate.ts";

export const DRIVER_NAME = "local";
const SIGTERM = 15;

const notFound = (handle: SandboxHandle) =>
  new AppError("not_found", `There is no sandbox ${handle.sandboxId} (incarnation ${handle.incarnation}) on this machine`, {
    reason: "sandbox_not_found",
  });

function damaged({ paths }: LocalParts, { sandboxId }: SandboxHandle): AppError {
  const message = `What is known of sandbox ${sandboxId} on this machine is damaged: ${paths.state(sandboxId)} and its copy`;
  return new AppError("data_loss", message, { reason: "state_damaged" });
}

/**
 * Sandboxes on this machine. Holds no record of them: each answer comes from the state file and the kernel, so any number of drivers
 * over one data directory, one after the other, see the same.
 */
export class LocalDriver implements SandboxDriver {
  readonly name = DRIVER_NAME;
  readonly capabilities: DriverCapabilities;
  readonly images: ImageStore;
  readonly snapshots: LocalSnapshots;
  private readonly parts: LocalParts;
  private readonly fingerprinter: () => Promise<Fingerprint>;
  /** What changes a sandbox happens one after the other. */
  private readonly queues = new SerialQueues<SandboxId>();
  /** Frozen processes of paused sandboxes that an earlier process has left are on their way out. */
  private readonly remainders: Promise<unknown>;

  constructor(parts: LocalParts, fingerprinter: () => Promise<Fingerprint>) {
    this.parts = parts;
    this.fingerprinter = fingerprinter;
    this.capabilities = {
      freeze: true,
      checkpoint: parts.criu ? "memory" : "disk",
      network: true,
      loopback: true,
      images: true,
      snapshots: true,
    };
    const layers = new LayerStore(parts.paths.root, (maxBytes) => parts.storage.withLimit(maxBytes, (limit) => limit));
    this.snapshots = new LocalSnapshots(parts, layers, (handle, work) => this.whileRunning(handle, work));
    parts.wakeCache.open((id) => this.endRemainder(id));
    const ids = readdirSync(parts.paths.sandboxes).filter(isSandboxId);
    this.remainders = Promise.all(ids.map((id) => this.endRemainder(id)));
    this.images = new LocalImages(layers, {
      still: (handle, work) => this.whileStill(handle, work),
      standingOn: (digest) => sandboxesOn(parts.paths, digest),
      snapshotsOn: (digest) => this.snapshots.standingOn(digest),
    });
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
    return this.queues.run(spec.sandboxId, async () => {
      validateSpec(spec);
      signal.throwIfAborted();
      return this.snapshots.useFor(spec, (from) => this.make(spec, from, signal));
    });
  }

  private async make(spec: SandboxSpec, from: SnapshotSource | undefined, signal: AbortSignal): Promise<SandboxHandle> {
    const undo = new Cleanup(this.parts.onUndoError);
    const ctx = await reserve(this.parts, spec, undo, from);
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

  start(handle: SandboxHandle, signal: AbortSignal): Promise<void> {
    return this.queues.run(handle.sandboxId, async () => {
      const record = this.find(handle);
      if (this.phaseOf(record) !== "created") {
        throw new AppError("failed_precondition", `Sandbox ${handle.sandboxId} has been started before`, { reason: "already_started" });
      }
      const undo = new Cleanup(this.parts.onUndoError);
      undo.add("sandbox", () => removeSandbox(this.parts, record.sandboxId));
      try {
        await this.run(record, undo, signal);
      } catch (error) {
        await undo.run();
        if (signal.aborted) throw signal.reason;
        throw fromErrno(`start sandbox ${handle.sandboxId}`, error);
      }
      undo.disarm();
    });
  }

  /** The steps of a start. */
  private run(record: LocalSandboxRecord, undo: Cleanup, signal: AbortSignal): Promise<void> {
    const { parts } = this;
    const { sandboxId, startsFrom } = record;
    if (startsFrom === undefined) return runSteps(startSteps, { parts, record }, undo, signal, parts.observer);
    const found = { parts, record, volume: parts.storage.volumePath(sandboxId), cgroup: cgroupOf(parts, sandboxId) };
    const restore = (from: SnapshotSource) => runSteps(startFromMemorySteps, { ...found, from }, undo, signal, parts.observer);
    return this.snapshots.use(startsFrom, restore);
  }

  async recover(handle: SandboxHandle): Promise<RuntimeStatus> {
    const status = await this.inspect(handle);
    // Of one whose record was damaged when this driver was opened, and was put right since.
    if (status.phase === "running") this.parts.networks.adopt([this.find(handle).lease]);
    return status;
  }

  async inspect(handle: SandboxHandle): Promise<RuntimeStatus> {
    const record = this.find(handle);
    const phase = this.phaseOf(record);
    return {
      handle: handleOf(record),
      phase,
      frozen: phase === "running" && cgroupOf(this.parts, record.sandboxId).isFrozen(),
      labels: record.labels,
      ...(phase === "stopped" && { exit: this.exitOf(record) }),
    };
  }

  async stats(handle: SandboxHandle): Promise<ResourceStats> {
    const record = this.find(handle);
    try {
      return await readAccount(this.parts, record);
    } catch (error) {
      if (hasErrno(error, "ENOENT", "ENODEV") || isAppError(error, "not_found")) throw notFound(handle);
      throw fromErrno(`stats of ${record.sandboxId}`, error);
    }
  }

  async address(handle: SandboxHandle): Promise<AgentAddress> {
    return { host: this.find(handle).lease.address, agentPort: AGENT_PORT };
  }

  async keptSpec(handle: SandboxHandle): Promise<KeptSpec> {
    return keptSpecOf(this.find(handle));
  }

  async connectInside(handle: SandboxHandle, port: number, signal: AbortSignal): Promise<number | undefined> {
    const { process } = this.find(handle);
    const pidfd = process ? openProcess(process) : undefined;
    if (pidfd === undefined) throw notFound(handle);
    try {
      return await connectInside(pidfd, port, this.parts.clock, signal);
    } finally {
      close(pidfd);
    }
  }

  signal(handle: SandboxHandle, signal: Signal): Promise<void> {
    return this.queues.run(handle.sandboxId, async () => {
      const record = this.find(handle);
      const pidfd = this.phaseOf(record) === "running" && record.process ? openProcess(record.process) : undefined;
      if (pidfd === undefined) throw notFound(handle);
      try {
        await this.noteEnding(record);
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
    const record = this.find(handle);
    if (this.phaseOf(record) === "created") return { reason: "unknown" };
    if (record.process) await waitUntilEnded(record.process, cgroupOf(this.parts, record.sandboxId), this.parts.clock, signal);
    const now = readRecord(this.parts.paths.state(record.sandboxId));
    // Gone altogether: it was destroyed meanwhile.
    return now?.incarnation === record.incarnation ? this.exitOf(now) : { reason: "killed" };
  }

  setNetwork(handle: SandboxHandle, network: EgressPolicy): Promise<void> {
    return this.queues.run(handle.sandboxId, async () => {
      validateEgress(network);
      const record = this.find(handle);
      if (this.phaseOf(record) !== "running") throw notFound(handle);
      await writeRecord(this.parts.paths.state(record.sandboxId), { ...record, network });
      await this.parts.networks.change(record.lease, network);
    });
  }

  freeze(handle: SandboxHandle): Promise<void> {
    return this.setFrozen(handle, true);
  }

  async thaw(handle: SandboxHandle): Promise<void> {
    await this.setFrozen(handle, false);
  }

  pause(handle: SandboxHandle, { memory }: PauseOptions, signal: AbortSignal): Promise<Generation> {
    return this.queues.run(handle.sandboxId, async () => {
      signal.throwIfAborted();
      return pauseSandbox(this.parts, this.findRunning(handle), memory, signal);
    });
  }

  private whileRunning: WhileRunning = (handle, work) =>
    this.queues.run(handle.sandboxId, async () => {
      return work(this.findRunning(handle));
    });

  async generation(sandboxId: SandboxId): Promise<Generation | undefined> {
    const file = isSandboxId(sandboxId) ? new Generations(this.parts.storage.generationsRoot, sandboxId).whole() : undefined;
    // What still stands in memory is not read again.
    return file && { ...generationOf(file), ...(this.parts.wakeCache.has(sandboxId) && { memoryBytes: 0 }) };
  }

  resume(spec: SandboxSpec, { memory }: PauseOptions, signal: AbortSignal): Promise<SandboxHandle> {
    return this.queues.run(spec.sandboxId, async () => {
      validateSpec(spec);
      signal.throwIfAborted();
      return this.snapshots.useFor(spec, async (from) => {
        if (!from) return handleOf(await resumeSandbox(this.parts, spec, memory, signal));
        const steps = memory && spec.from?.memory ? rollBackToMemorySteps : rollBackToDiskSteps;
        return handleOf(await resumeBy(() => steps, { parts: this.parts, spec, from }, signal));
      });
    });
  }

  revert(sandboxId: SandboxId): Promise<Generation> {
    return this.queues.run(sandboxId, async () => generationOf(await revertSandbox(this.parts, sandboxId)));
  }

  dropGeneration(handle: SandboxHandle): Promise<void> {
    return this.queues.run(handle.sandboxId, async () => {
      const record = this.find(handle);
      if (this.phaseOf(record) === "paused") {
        throw new AppError("failed_precondition", `Sandbox ${handle.sandboxId} is paused`, { reason: "sandbox_paused" });
      }
      await new Generations(this.parts.storage.generationsRoot, record.sandboxId).removeAll();
    });
  }

  destroy(handle: SandboxHandle): Promise<void> {
    return this.queues.run(handle.sandboxId, async () => {
      if (!isSandboxId(handle.sandboxId)) throw new AppError("invalid_argument", "Not a sandbox id", { reason: "invalid_sandbox_id" });
      const record = readRecord(this.parts.paths.state(handle.sandboxId));
      // The incarnation of an older handle is gone already; a newer incarnation does not belong to this handle.
      if (record && record.incarnation !== handle.incarnation) return;
      if (record?.process && isAlive(record.process)) await this.noteEnding(record);
      try {
        await removeSandbox(this.parts, handle.sandboxId);
      } catch (error) {
        throw fromErrno(`destroy sandbox ${handle.sandboxId}`, error);
      }
    });
  }

  async list(): Promise<readonly SandboxHandle[]> {
    return (await sandboxesOnMachine(this.parts)).map((sandboxId) => {
      const record = readRecord(this.parts.paths.state(sandboxId));
      // Without a whole state file nothing but `destroy` can be done, which then takes any incarnation.
      return record ? handleOf(record) : { driver: DRIVER_NAME, sandboxId, incarnation: 1 };
    });
  }

  async close(): Promise<void> {
    this.parts.guard.close();
    this.parts.figures?.close();
    await Promise.all([this.parts.wakeCache.close(), this.remainders]);
    await this.parts.spareChildren.close();
    this.parts.forkServer.close();
    await this.parts.networks.close();
    await this.parts.storage.close();
  }

  async release(): Promise<void> {
    const left = await this.list();
    if (left.length > 0) {
      throw new AppError("failed_precondition", `${left.length} sandboxes are left; destroy them first`, { reason: "sandboxes_left" });
    }
    this.parts.guard.close();
    this.parts.figures?.close();
    await this.parts.spareChildren.close();
    this.parts.forkServer.close();
    this.parts.uidRanges.release();
    await this.parts.networks.release();
    await this.parts.storage.release();
    this.parts.cgroups.remove();
  }

  /** What still stands of a paused sandbox goes, unless it is kept for a quick wake. */
  private endRemainder(sandboxId: SandboxId): Promise<void> {
    return this.queues.run(sandboxId, async () => {
      const { parts } = this;
      const record = readRecord(parts.paths.state(sandboxId));
      if (!record || !existsSync(cgroupOf(parts, sandboxId).top) || parts.wakeCache.has(sandboxId) || !isPaused(parts, record)) return;
      // The next call that touches the sandbox tries again.
      await freeSandbox(parts, record).catch((error: unknown) => parts.onUndoError("freeSandbox", error));
    });
  }

  private async setFrozen(handle: SandboxHandle, frozen: boolean): Promise<void> {
    await this.queues.run(handle.sandboxId, async () => {
      if (frozen && isSandboxId(handle.sandboxId) && isDamaged(this.parts, handle.sandboxId)) {
        return cgroupOf(this.parts, handle.sandboxId).freeze(true);
      }
      const record = this.find(handle);
      if (this.phaseOf(record) !== "running") throw notFound(handle);
      const cgroup = cgroupOf(this.parts, record.sandboxId);
      // A thaw is for the commands too, which the agent may have stopped for a pause that nobody ends.
      if (frozen) await cgroup.freeze(true);
      else await cgroup.thawAll([]);
    });
  }

  /** For a commit: nothing of the sandbox may write meanwhile, and nothing may thaw or remove it. */
  private whileStill<T>(handle: SandboxHandle, work: (facts: { volume: string; uidBase: number }) => Promise<T>): Promise<T> {
    return this.queues.run(handle.sandboxId, async () => {
      const record = this.find(handle);
      const { sandboxId } = record;
      if (this.phaseOf(record) === "running") {
        const cgroup = cgroupOf(this.parts, sandboxId);
        if (!cgroup.isToBeFrozen()) {
          throw new AppError("failed_precondition", `Sandbox ${sandboxId} runs; freeze it first`, { reason: "sandbox_running" });
        }
        await cgroup.freeze(true);
      }
      return work({ volume: this.parts.storage.volumePath(sandboxId), uidBase: diskUidBaseOf(record) });
    });
  }

  /** The record behind a handle; `data_loss` when it is damaged, `not_found` for another incarnation and for what was never made whole. */
  private find(handle: SandboxHandle): LocalSandboxRecord {
    const record = isSandboxId(handle.sandboxId) ? readRecord(this.parts.paths.state(handle.sandboxId)) : undefined;
    if (!record && isSandboxId(handle.sandboxId) && isDamaged(this.parts, handle.sandboxId)) throw damaged(this.parts, handle);
    const isWhole = record?.process !== undefined || record?.startsFrom !== undefined;
    if (!isWhole || record.incarnation !== handle.incarnation) throw notFound(handle);
    return record;
  }

  private findRunning(handle: SandboxHandle): LocalSandboxRecord & { readonly process: ProcessIdentity } {
    const { process, ...record } = this.find(handle);
    if (!process || this.phaseOf({ ...record, process }) !== "running") throw notFound(handle);
    return { ...record, process };
  }

  private phaseOf(record: LocalSandboxRecord): RuntimePhase {
    if (isPaused(this.parts, record)) return "paused";
    if (record.startsFrom !== undefined) return "created";
    if (!record.process || !isAlive(record.process)) return "stopped";
    return this.parts.runtime.isWaiting(record.sandboxId) ? "created" : "running";
  }

  /** Why a sandbox that is no longer alive has ended. The kernel's count says whether memory ran out; it may have been long before. */
  private exitOf(record: LocalSandboxRecord): ExitStatus {
    if (record.ending) return { reason: record.ending };
    return { reason: readOomKills(cgroupOf(this.parts, record.sandboxId)) > 0 ? "out_of_memory" : "agent_exited" };
  }

  private async noteEnding(record: LocalSandboxRecord): Promise<void> {
    if (record.ending) return;
    try {
      await writeRecord(this.parts.paths.state(record.sandboxId), { ...record, ending: "killed" });
    } catch (error) {
      // A disk that takes no writes must not keep a sandbox alive; its end then counts as its own.
      if (!hasErrno(error, "ENOSPC", "EDQUOT", "EROFS", "EIO")) throw error;
    }
  }
}

function handleOf(record: LocalSandboxRecord): SandboxHandle {
  return { driver: DRIVER_NAME, sandboxId: record.sandboxId, incarnation: record.incarnation };
}
