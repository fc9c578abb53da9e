import type { SandboxId, SandboxState, TeamId, TemplateId } from "@boxyard/core";
import type { EgressPolicy, ImageRef, ResourceLimits, Restrictions } from "@boxyard/driver";

/** Why a sandbox ended; kept with its record. */
export type EndCause =
  | "requested"
  | "timeout"
  | "create_failed"
  | "agent_exited"
  | "killed"
  | "out_of_memory"
  | "unknown"
  | "lost"
  | "half_made"
  | "released"
  | "owner_gone"
  | "unresponsive";

/** The part of a sandbox that never changes after its creation. */
export interface SandboxFacts {
  readonly alias: string;
  readonly image: ImageRef;
  readonly resources: ResourceLimits;
  /** The user's own environment; needed again at a resume. Never logged. */
  readonly envVars: Readonly<Record<string, string>>;
  readonly user: string;
  readonly workdir: string;
  readonly initKey: string;
  /** Lifetime asked for at create. */
  readonly timeoutMs: number;
  /** The template's environment, for a boot from the disk. */
  readonly templateEnv?: Readonly<Record<string, string>>;
  readonly restrictions?: Restrictions;
  /** The build of the template that it was made of. */
  readonly buildId?: string;
  /** What its template runs in it; handed on to what is made of its snapshots. */
  readonly commands?: StartCommands;
}

/** `full`: memory and disk. `filesystem`: the disk alone. */
export type PauseMode = "full" | "filesystem";

/** What becomes of a sandbox whose time is over, and of one that is paused when a request comes for it. */
export interface Lifecycle {
  /** Set: it is paused, and this is kept of it. Not set: it is killed. */
  readonly pauseAs?: PauseMode;
  /** A request to it resumes it. */
  readonly wakes: boolean;
}

/** What can be changed of a sandbox while it lives. */
export interface SandboxSettings {
  readonly metadata: Readonly<Record<string, string>>;
  /** What may leave it, with the lists as they were given. */
  readonly egress: EgressPolicy;
  readonly allowPublicTraffic: boolean;
  readonly maskRequestHost?: string;
  /** What becomes of it when its time is over; killed by default. */
  readonly lifecycle?: Lifecycle;
  /** What the pause has kept; set while it is paused, or becomes so. */
  readonly pauseMode?: PauseMode;
}

/**
 * Who uses a sandbox.
 * - `user`: a team, through the API. Only these can be seen, counted against limits and reached through the proxy.
 * - `build`: a template's build, named by `id`; it ends with the server that builds.
 */
export type SandboxOwner = { readonly kind: "user" } | { readonly kind: "build"; readonly id: string };

export interface SandboxRecord {
  readonly id: SandboxId;
  readonly owner: SandboxOwner;
  readonly teamId: TeamId;
  readonly templateId: TemplateId;
  readonly state: SandboxState;
  readonly reason?: EndCause;
  readonly incarnation: number;
  /** Wall times in milliseconds. */
  readonly createdAt: number;
  readonly startedAt?: number;
  /** When it is to end by itself. While it is being created: when the creation is given up at the latest. */
  readonly endAt: number;
  readonly endedAt?: number;
  readonly facts: SandboxFacts;
  readonly settings: SandboxSettings;
}

export interface ApiKeyRecord {
  readonly id: string;
  readonly teamId: TeamId;
  readonly name: string;
  /** SHA-256 of the key, hex. */
  readonly hash: string;
  /** The key's first characters, for lists. */
  readonly hint: string;
  readonly createdAt: number;
  readonly lastUsedAt?: number;
}

/** What a template runs in every new sandbox. */
export interface StartCommands {
  /** Started in every new sandbox, as the template's user. */
  readonly startCmd?: string;
  /** Ends with 0 when what `startCmd` started is ready; a new sandbox is answered for then. */
  readonly readyCmd?: string;
  /** Whose and where both commands run, if that is not the template's own user and directory: of the template that they were inherited from. */
  readonly runAs?: RunAs;
  /** TCP ports that were listened on when the build had waited for the start command. */
  readonly ports?: readonly number[];
}

/** A snapshot of a sandbox, as a version of a template: what the driver has kept stands on the layers of the version's image. */
export interface SnapshotOrigin {
  /** Names it to the driver. */
  readonly id: string;
  /** Whether processes go on in sandboxes of it; else they boot from its disk. */
  readonly memory: boolean;
  /** The sandbox that it was made of. */
  readonly sandboxId: SandboxId;
  /** That sandbox's own environment, JSON; sealed by the store. */
  readonly sealedEnv: string;
}

/** One version of a template: what a sandbox starts from. */
export interface TemplateSpec extends StartCommands {
  readonly image: ImageRef;
  /** Set: the version is a snapshot of a sandbox. */
  readonly snapshot?: SnapshotOrigin;
  /** The driver's name of a snapshot, with memory, of a sandbox of it whose start command is ready: sandboxes start from that. */
  readonly started?: string;
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly diskMB: number;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly workdir: string;
  /** Instructions of a Dockerfile for those that build on it, as their texts (ONBUILD). */
  readonly onBuild?: readonly string[];
  /** Privileges that its sandboxes do without. */
  readonly restrictions?: Restrictions;
}

export interface RunAs {
  readonly user: string;
  readonly workdir: string;
}

/** A tag and the build it points to, with what is needed to decide who may use it. */
export interface TemplateVersion {
  readonly templateId: TemplateId;
  readonly teamId: TeamId;
  /** Slug of the team, the namespace of the name. */
  readonly namespace: string;
  readonly isPublic: boolean;
  /** The template's name, or its id if it has none. */
  readonly name: string;
  readonly tag: string;
  readonly buildId: string;
  readonly spec: TemplateSpec;
  /** When the tag was pointed there, milliseconds since 1970. */
  readonly assignedAt: number;
}

/** What a build step came to. */
export interface CachedResult {
  readonly key: string;
  /** JSON. */
  readonly result: string;
}

/** That a tag was pointed to a build; milliseconds since 1970. */
export interface TagAssignment {
  readonly tag: string;
  readonly buildId: string;
  readonly assignedAt: number;
  readonly buildCreatedAt: number;
  readonly buildFinishedAt?: number;
}

export interface TemplateRecord {
  readonly id: TemplateId;
  readonly teamId: TeamId;
  /** Slug of the team. */
  readonly namespace: string;
  readonly name?: string;
  readonly isPublic: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly spawnCount: number;
  readonly lastSpawnedAt?: number;
}

/** `waiting`: requested; `building`: started, queued or at work. */
export type BuildStatus = "waiting" | "building" | "ready" | "error";

export interface BuildRecord {
  readonly id: string;
  readonly templateId: TemplateId;
  readonly status: BuildStatus;
  /** Point to it once it is ready. */
  readonly tags: readonly string[];
  readonly resources: { readonly cpuCount: number; readonly memoryMB: number; readonly diskMB: number };
  /** Why it failed, and in which step. */
  readonly reason?: { readonly message: string; readonly step?: string };
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  /** What sandboxes start from; there as soon as the build has made it. */
  readonly spec?: TemplateSpec;
}

export type BuildChange = Partial<
  Pick<BuildRecord, "status" | "tags" | "resources" | "reason" | "updatedAt" | "startedAt" | "finishedAt" | "spec">
>;

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type BuildLogLevel = (typeof LOG_LEVELS)[number];

export interface BuildLogLine {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly level: BuildLogLevel;
  /** `base`, a step's number from 1 on, or `finalize`. */
  readonly step?: string;
  readonly message: string;
}

export interface IdempotencyRecord {
  readonly teamId: TeamId;
  readonly key: string;
  /** SHA-256 of what was asked for. */
  readonly fingerprint: string;
  readonly sandboxId: SandboxId;
  readonly createdAt: number;
}
