import type { Clock, SandboxId, SerialQueues, StepObserver } from "@boxyard/core";
import type { SandboxSpec } from "@boxyard/driver";
import type { InstanceCgroups } from "../cgroup/instance.ts";
import type { InstanceLimits } from "../cgroup/instance-limits.ts";
import { SandboxCgroup } from "../cgroup/sandbox-cgroup.ts";
import type { SpareChildren } from "../cgroup/spare-children.ts";
import type { RoomForMemory } from "../checkpoint-store/room-for-memory.ts";
import type { SnapshotSource } from "../checkpoint-store/snapshot-files.ts";
import type { WakeCache } from "../checkpoint-store/wake-cache.ts";
import type { Criu } from "../criu/criu.ts";
import type { Figures } from "../figures/figures.ts";
import type { MemoryGuard } from "../guard/guard.ts";
import type { MachineFacts } from "../oci/config.ts";
import type { PoolStorage, SandboxNetworks } from "../parts.ts";
import type { UidRanges } from "../rootfs/uid-ranges.ts";
import type { OciRuntime } from "../runtime/oci-runtime.ts";
import type { DataPaths } from "../state/paths.ts";
import type { LocalSandboxRecord } from "../state/record.ts";
import type { FileEvents } from "../sys/file-events.ts";
import type { ForkServer, ParkedChild } from "../sys/fork-server/index.ts";

/** Everything the driver is made of; steps and removal take what they need from it. */
export interface LocalParts {
  readonly paths: DataPaths;
  readonly machine: MachineFacts;
  readonly cgroups: InstanceCgroups;
  /** Makes the child processes of the driver, with system calls that the server's own process must not make. */
  readonly forkServer: ForkServer;
  readonly spareChildren: SpareChildren;
  /** What all sandboxes together may take. */
  readonly limits: InstanceLimits;
  /** Changes of one sandbox run one after the other. */
  readonly turns: SerialQueues<SandboxId>;
  /** Ends sandboxes that take the machine's memory where no cgroup counts it. */
  readonly guard: Pick<MemoryGuard, "close">;
  /** What sandboxes see of their memory and processors; undefined where the kernel can't keep it up to date. */
  readonly figures: Figures | undefined;
  /** Undefined where the kernel gives no such instance: everything that waits looks by itself then. */
  readonly fileEvents: FileEvents | undefined;
  readonly uidRanges: UidRanges;
  readonly networks: SandboxNetworks;
  readonly storage: PoolStorage;
  readonly runtime: OciRuntime;
  /** The CRIU that writes memory to disk and restores it; undefined where none works. */
  readonly criu: Criu | undefined;
  /** How long one run of CRIU may take, in milliseconds, plus a time that grows with its memory. */
  readonly criuLimitMs: number;
  /** What CRIU runs at each moment (see `MOMENT_SCRIPT`). */
  readonly criuScript: string;
  /** Whether restored processes get their memory while they run: not when the machine cannot do it, and not with images with which it has failed. */
  readonly lazyMemory: { isOff: boolean; readonly failed: Set<string> };
  /** Adds up what pauses and captures write at the same time. */
  readonly roomForMemory: RoomForMemory;
  /** Paused sandboxes whose processes are still in memory. */
  readonly wakeCache: WakeCache;
  /** The guest bundle's directory. */
  readonly guestDirectory: string;
  readonly clock: Clock;
  /** How long an agent may take to answer after its start, milliseconds. */
  readonly agentTimeoutMs: number;
  readonly observer: StepObserver;
  /** Failures of an undo, which must not hide the first cause. */
  readonly onUndoError: (what: string, error: unknown) => void;
  /** Trials of the image of a paused sandbox that did not pass. `fails`: the image can't be started; false: the trial could not tell. */
  readonly onTrial: (id: SandboxId, fails: boolean, error: unknown) => void;
}

/** What the steps of a create share. */
export interface CreateContext {
  readonly parts: LocalParts;
  readonly spec: SandboxSpec;
  readonly cgroup: SandboxCgroup;
  record: LocalSandboxRecord;
  /** Path of the sandbox's volume, once `rootfs` has made it. */
  volume: string;
  /** The snapshot that it starts from; undefined: from an empty disk. */
  readonly from?: SnapshotSource | undefined;
  /** A child that is in the v1 cgroups already, once `cgroup` has found one. */
  child?: ParkedChild;
}

/** What the steps of a start need. */
export interface StartContext {
  readonly parts: LocalParts;
  readonly record: LocalSandboxRecord;
  /** Nobody waits for the sandbox. */
  readonly isUnawaited?: boolean;
}

export function cgroupOf(
  parts: Pick<LocalParts, "cgroups" | "clock"> & Partial<Pick<LocalParts, "fileEvents">>,
  id: SandboxId,
): SandboxCgroup {
  return new SandboxCgroup(parts.cgroups, id, parts.clock, parts.fileEvents);
}
