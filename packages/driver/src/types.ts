import type { SandboxId } from "@boxyard/core";

/** An image as the platform names it: an OCI image whose layers the driver can find by digest. */
export interface ImageRef {
  /** Digest that names the whole image, `sha256:<64 hex>`; a registry knows it by this. */
  readonly digest: string;
  /** Digests of its layers, lowest first. */
  readonly layers: readonly string[];
}

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

export interface NetworkSpec {
  /** False: no packet leaves the sandbox but to the server that reaches in. */
  readonly internetAccess: boolean;
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

/** What a sandbox goes on from, instead of an empty disk and a boot. */
export interface SnapshotRef {
  readonly snapshot: string;
  /** True: its processes go on. A snapshot without memory: `failed_precondition`, reason `no_memory_snapshot`. */
  readonly memory: boolean;
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
  readonly network: NetworkSpec;
  readonly restrictions?: Restrictions;
  readonly agent: {
    /** Secret that `/init` of the agent asks for; handed over so that nothing but the agent and root inside can read it. */
    readonly initKey: string;
  };
  /** Small facts of the server's own, kept with the sandbox and given back by `inspect`; at most 4 KiB in all. */
  readonly labels: Readonly<Record<string, string>>;
}

/** What a driver has kept of a spec. Sandboxes of earlier versions lack what is optional. */
export interface KeptSpec extends Omit<SandboxSpec, "agent" | "hostname" | "image"> {
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
  /** How often the kernel ended something of the sandbox for want of memory. */
  readonly oomKills: number;
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

export interface DriverCapabilities {
  readonly freeze: boolean;
  /** What a pause can keep: memory and disk, the disk alone, or nothing (`SandboxDriver.pause`). */
  readonly checkpoint: CheckpointAbility;
  readonly network: boolean;
  /** What listens on loopback only, inside, can be connected to (`SandboxDriver.connectInside`). */
  readonly loopback: boolean;
  /** Running sandboxes can be captured, and others started from that (`SandboxDriver.snapshots`); with memory if `checkpoint` says so. */
  readonly snapshots: boolean;
  /** Layers can be imported, made from sandboxes, exported and removed (`SandboxDriver.images`). */
  readonly images: boolean;
}

/** `memory`: disk and memory. `disk`: the disk only. */
export type CheckpointAbility = "memory" | "disk" | "none";

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
