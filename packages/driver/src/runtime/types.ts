import type { SandboxId } from "@boxyard/core";
import type { EgressPolicy } from "../network/egress-policy.ts";
import type { ImageRef, SnapshotRef } from "../storage/refs.ts";

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

/** What a sandbox's own root and users do without; what is left out stays. */
export interface Restrictions {
  /** No program gains privileges by being started: neither set-user-id (sudo) nor file capabilities (ping) work. */
  readonly noNewPrivileges?: boolean | undefined;
  /** The sandbox's root looks into no process of another user: no CAP_SYS_PTRACE. Users still debug their own programs. */
  readonly noPtrace?: boolean | undefined;
  /** Files that one process may have open, from 1,024 (the agent needs as many) to what the driver allows; more is taken as that many. */
  readonly maxOpenFiles?: number | undefined;
}

/** What we want. A driver enforces it and decides nothing; it validates it once more. */
export interface SandboxSpec {
  readonly sandboxId: SandboxId;
  /** 1 at create, one more with each resume. Part of every address and route, so nothing stale can be reached. */
  readonly incarnation: number;
  readonly image: ImageRef;
  /** Goes on from a snapshot, which stands on the layers of `image`. Absent: an empty disk and a boot. Needs the ability `snapshots`. */
  readonly from?: SnapshotRef;
  readonly hostname: string;
  readonly resources: ResourceLimits;
  readonly network: EgressPolicy;
  readonly restrictions?: Restrictions;
  readonly agent: {
    /** Secret that `/init` of the agent asks for; handed over so that nothing but the agent and root inside can read it. */
    readonly initKey: string;
  };
  /** Small facts of the server's own, kept with the sandbox and given back by `inspect`; at most 4 KiB in all. */
  readonly labels: Readonly<Record<string, string>>;
}

/** What a driver has kept of a spec. Sandboxes of earlier versions lack what is optional. */
export interface KeptSpec extends Omit<SandboxSpec, "agent" | "from" | "hostname" | "image"> {
  readonly image: { readonly digest?: string; readonly layers: readonly string[] };
  /** Secret: never logged. */
  readonly initKey?: string;
}

/** How a driver finds its sandbox again. Small, serialisable, holds no pid, path or address. */
export interface SandboxHandle {
  readonly driver: string;
  readonly sandboxId: SandboxId;
  readonly incarnation: number;
}

/** Where the agent and the ports of a sandbox are reached, valid for this incarnation only. */
export interface AgentAddress {
  readonly host: string;
  readonly agentPort: number;
}

/**
 * `created`: exists, nothing of it runs. `running`: its init runs. `stopped`: its init has ended, traces may remain. `paused`: there is a
 * whole generation of it.
 */
export type RuntimePhase = "created" | "running" | "stopped" | "paused";

export type EndReason = "agent_exited" | "killed" | "out_of_memory" | "unknown";

export interface ExitStatus {
  readonly reason: EndReason;
}

export interface RuntimeStatus {
  readonly handle: SandboxHandle;
  readonly phase: RuntimePhase;
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
  readonly processes: number;
  /** How often the kernel ended something of the sandbox for lack of memory, since it was created or resumed from disk. */
  readonly oomKills: number;
}

/** What is short. */
export interface Reclaim {
  readonly memoryBytes: number;
  readonly processes: number;
}

/** What there is on the machine for all sandboxes together, and how much of it is free now. */
export interface Capacity {
  readonly memoryLimitBytes: number;
  /** What sandboxes can still take; what the kernel can reclaim from them at any time (cached files) counts as free. */
  readonly memoryFreeBytes: number;
  /** Processes and threads. */
  readonly processLimit: number;
  readonly processesFree: number;
  /** Size of what sandboxes write to. */
  readonly diskLimitBytes: number;
  /** What can still be written before growth is paused; 0 while it is. */
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
