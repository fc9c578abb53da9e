import type { SandboxId } from "@boxyard/core";
import type { SandboxHandle } from "../handle.ts";
import type { EgressPolicy } from "../network/egress-policy.ts";
import type { ImageRef, SnapshotRef } from "../storage/refs.ts";
import type { VolumeMount } from "../storage/volume-mounts.ts";

export interface ResourceLimits {
  /** CPU time as a number of cores; may be a fraction. */
  readonly cpuCount: number;
  /** Memory, without swap. */
  readonly memoryBytes: number;
  /** What the sandbox may write on top of its image. */
  readonly diskBytes: number;
  /** Processes and threads. */
  readonly maxProcesses: number;
}

/** Restrictions for the users of a sandbox, root included. An absent member restricts nothing. */
export interface Restrictions {
  /** exec(2) grants no privileges: neither set-user-id (sudo) nor file capabilities (ping) work. */
  readonly noNewPrivileges?: boolean | undefined;
  /** Root of the sandbox cannot trace processes of other users: no CAP_SYS_PTRACE. Users can still debug their own programs. */
  readonly noPtrace?: boolean | undefined;
  /** Files that one process may have open, from 1,024 (which the agent needs) to the driver's maximum, to which larger values are reduced. */
  readonly maxOpenFiles?: number | undefined;
}

/** The wanted sandbox. A driver enforces the spec, decides nothing, and validates the spec again. */
export interface SandboxSpec {
  readonly sandboxId: SandboxId;
  /** 1 at create, one more with each resume. Part of every address and route, so that a stale one reaches nothing. */
  readonly incarnation: number;
  readonly image: ImageRef;
  /** Snapshot to start from, made on the layers of `image`. Absent: an empty disk and a boot. Needs the capability `snapshots`. */
  readonly from?: SnapshotRef;
  /** What `checkVolumeMounts` allows. Needs the capability `volumes`. */
  readonly volumes?: readonly VolumeMount[];
  readonly hostname: string;
  readonly resources: ResourceLimits;
  readonly network: EgressPolicy;
  readonly restrictions?: Restrictions;
  readonly agent: {
    /** Secret that `/init` of the agent requires. Inside only the agent and root can read it. */
    readonly initKey: string;
  };
  /** Facts of the server, kept with the sandbox and returned by `inspect`; at most 4 KiB in all. */
  readonly labels: Readonly<Record<string, string>>;
}

/** The part of a spec that a driver keeps. Sandboxes of earlier versions may lack optional members. */
export interface KeptSpec extends Omit<SandboxSpec, "agent" | "from" | "hostname" | "image"> {
  readonly image: { readonly digest?: string; readonly layers: readonly string[] };
  /** Secret: never logged. */
  readonly initKey?: string;
}

/** Address of a sandbox's agent and ports, valid for one incarnation. */
export interface AgentAddress {
  readonly host: string;
  readonly agentPort: number;
}

/**
 * `created`: exists, without processes. `running`: its init runs. `stopped`: its init has ended, resources may be left. `paused`: it has a whole
 * generation and no init.
 */
export type RuntimePhase = "created" | "running" | "stopped" | "paused";

/**
 * `uncounted_memory`: it took memory of the machine that is on no account. `out_of_disk`: it wrote more than its limit. `evicted`: what runs the machines
 * took it from its machine, which was short of something or was emptied. `node_lost`: its machine has gone, or does not answer. `memory_lost`: after a
 * resume not all of its memory could be brought back.
 */
export type EndReason =
  | "agent_exited"
  | "killed"
  | "out_of_memory"
  | "uncounted_memory"
  | "memory_lost"
  | "out_of_disk"
  | "evicted"
  | "node_lost"
  | "unknown";

export interface ExitStatus {
  readonly reason: EndReason;
}

export interface RuntimeStatus {
  readonly handle: SandboxHandle;
  readonly phase: RuntimePhase;
  /** A freeze was asked for, and no thaw since. */
  readonly frozen: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** Set when `phase` is `stopped`. */
  readonly exit?: ExitStatus;
}

export interface ResourceStats {
  readonly cpuUsageUsec: number;
  readonly memoryUsedBytes: number;
  readonly memoryCacheBytes: number;
  readonly memoryLimitBytes: number;
  readonly diskUsedBytes: number;
  readonly diskLimitBytes: number;
  /** Bytes that the sandbox's link has brought it, and taken from it, counted by the machine, since this start or resume from disk. */
  readonly networkReceivedBytes: number;
  readonly networkSentBytes: number;
  readonly processes: number;
  /** How often the kernel ended something of the sandbox for lack of memory, since it was created or resumed from disk. */
  readonly oomKills: number;
}

/** The wanted amounts of a `reclaim`. */
export interface Reclaim {
  readonly memoryBytes: number;
  readonly processes: number;
}

/** Resources of the machine for all sandboxes together, and their free part. */
export interface Capacity {
  readonly memoryLimitBytes: number;
  /** Memory that sandboxes can still take; memory that the kernel can reclaim from them at any time (cached files) counts as free. */
  readonly memoryFreeBytes: number;
  /** Processes and threads. */
  readonly processLimit: number;
  readonly processesFree: number;
  /** Size of the storage of sandboxes. */
  readonly diskLimitBytes: number;
  /** Bytes that can still be written before its growth is paused; 0 while growth is paused. */
  readonly diskFreeBytes: number;
}

export type Signal = "SIGTERM" | "SIGKILL";

/** One line of `doctor`. */
export interface FingerprintCheck {
  readonly name: string;
  /** `fail`: sandboxes cannot run. `warn`: they run, with less. */
  readonly status: "ok" | "warn" | "fail";
  /** What was found, in one sentence. */
  readonly found: string;
  /** What to do about it; set unless `ok`. */
  readonly fix?: string;
}

export interface Fingerprint {
  readonly checks: readonly FingerprintCheck[];
}
