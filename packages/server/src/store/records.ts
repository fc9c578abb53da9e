import type { SandboxId, SandboxState, TeamId, TemplateId } from "@boxyard/core";
import type { EndReason, ImageRef, ResourceLimits, Restrictions } from "@boxyard/driver";
import type { Retention, Scope } from "@boxyard/spec/platform";
import type { SandboxUsage } from "./metric-store.ts";
import type { SandboxSettings } from "./sandbox-settings.ts";

/** Why a sandbox ended: what the driver saw of its processes, or what the server did. Kept with its record. */
export type EndCause =
  | EndReason
  | "requested"
  | "timeout"
  | "pause_failed"
  | "create_failed"
  | "lost"
  | "unfinished"
  | "released"
  | "owner_gone"
  | "unresponsive"
  | "setup_abandoned"
  | "idle"
  | "retention";

/** The part of a sandbox's record that never changes after its creation. */
export interface SandboxFacts {
  readonly alias: string;
  readonly image: ImageRef;
  readonly resources: ResourceLimits;
  /** The user's environment, for a boot from the disk at a resume. Never logged; sealed in the store. */
  readonly envVars: Readonly<Record<string, string>>;
  /** Those of `envVars`, and of the memory that the sandbox began with, whose values are secrets of the team. */
  readonly secretEnv?: readonly string[];
  readonly user: string;
  readonly workdir: string;
  /** The key for the agent's `/init`. Never logged; sealed in the store. */
  readonly initKey: string;
  /** The lifetime of the create's request. */
  readonly timeoutMs: number;
  /** The template's environment, for a boot from the disk. */
  readonly templateEnv?: Readonly<Record<string, string>>;
  readonly restrictions?: Restrictions;
  /** The build of the template that the sandbox was made from. */
  readonly buildId?: string;
  /** The commands of its template; sandboxes of its snapshots get them too. */
  readonly commands?: StartCommands;
  readonly volumes?: readonly SandboxVolume[];
  /** The name of its node; the server's own machine without one. */
  readonly node?: string;
  /** SHA-256 of the idempotency key whose create has got it from the pool: the write of this record is what has made it for that key (`madeOnce`). */
  readonly claimedUnder?: string;
}

/** A volume that a sandbox has, and where. */
export interface SandboxVolume {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly readOnly: boolean;
}

export * from "./sandbox-settings.ts";
/** The limits of a sandbox now. */
export const resourcesOf = ({ facts, settings }: Pick<SandboxRecord, "facts" | "settings">): ResourceLimits =>
  settings.resources ?? facts.resources;

/**
 * Who uses a sandbox.
 * - `user`: a team, through the API. Only these sandboxes can be seen, count against limits and are reached through the proxy.
 * - `build`: a template's build, named by `id`. The sandbox ends with the server of the build.
 * - `pool`: nobody yet. The sandbox runs and waits for the create that gets it; it has no team (""), and leaves no events.
 */
export type SandboxOwner = { readonly kind: "user" } | { readonly kind: "build"; readonly id: string } | { readonly kind: "pool" };

export interface SandboxRecord {
  readonly id: SandboxId;
  readonly owner: SandboxOwner;
  readonly teamId: TeamId;
  readonly templateId: TemplateId;
  readonly state: SandboxState;
  readonly reason?: EndCause;
  readonly incarnation: number;
  /** No other sandbox of the team has it, but those whose removal has begun. */
  readonly name?: string | undefined;
  /** Wall times in milliseconds. */
  readonly createdAt: number;
  readonly startedAt?: number;
  /** When the sandbox ends by itself. During the create: the time limit of the create. */
  readonly endAt: number;
  readonly endedAt?: number;
  readonly facts: SandboxFacts;
  readonly settings: SandboxSettings;
  /** The checkpoint that its present state comes from: its newest one, the one that it was made from, or the one of its last rollback. */
  readonly checkpointId?: string;
  /** What it has used, once it has ended. */
  readonly usage?: SandboxUsage;
}

/** An API key, or an access token, which is for `Authorization: Bearer`. */
export interface ApiKeyRecord {
  readonly id: string;
  readonly teamId: TeamId;
  readonly name: string;
  readonly kind: "key" | "token";
  /** The token by which its holder had it made; it ends with that token. */
  readonly parentId?: string;
  readonly scopes: readonly Scope[];
  /** SHA-256 of the key, hex. */
  readonly hash: string;
  /** The key's first characters, for lists. */
  readonly hint: string;
  readonly createdAt: number;
  /** From then on it is refused; never when this is not set. Milliseconds since 1970. */
  readonly expiresAt?: number;
  readonly lastUsedAt?: number;
}

/** What a template runs in every new sandbox. */
export interface StartCommands {
  /** Started in every new sandbox, as the template's user. */
  readonly startCmd?: string;
  /** Exits with 0 when the program of `startCmd` is ready; the create of a sandbox is answered then. */
  readonly readyCmd?: string;
  /** User and directory of both commands, where they are inherited from a template with another user or directory. */
  readonly runAs?: RunAs;
  /** TCP ports that the sandbox of the build listened on when the start command was ready. */
  readonly ports?: readonly number[];
}

/** The snapshot of a sandbox that a version of a template is. It needs the layers of the version's image too. */
export interface SnapshotOrigin {
  /** The checkpoint, and the driver's name of it. */
  readonly id: string;
  /** True: the processes go on in sandboxes of the snapshot. False: sandboxes boot from its disk. */
  readonly memory: boolean;
  /** The sandbox that was captured. */
  readonly sandboxId: SandboxId;
  /** That sandbox's `envVars`, JSON, sealed by the store. */
  readonly sealedEnv: string;
  /** Those of its variables whose values are secrets: no other team gets them, nor a memory that has them. */
  readonly secretEnv?: readonly string[];
  /** The volumes of that sandbox, which those with its memory need. */
  readonly volumes?: readonly SandboxVolume[];
}

/** One version of a template: what a sandbox starts from. */
export interface TemplateSpec extends StartCommands {
  readonly image: ImageRef;
  /** Set: the version is a snapshot of a sandbox. */
  readonly snapshot?: SnapshotOrigin;
  /** The checkpoint of a sandbox of this version, with memory, whose start command was ready. Sandboxes start from it. */
  readonly started?: string;
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly diskMB: number;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly workdir: string;
  /** Texts of the Dockerfile instructions that run first in builds on this version (ONBUILD). */
  readonly onBuild?: readonly string[];
  /** Privileges that its sandboxes do not get. */
  readonly restrictions?: Restrictions;
  /** Volumes that its sandboxes get, by the names that they have when a sandbox is created. */
  readonly volumeMounts?: readonly TemplateMount[];
}

export interface TemplateMount {
  readonly name: string;
  readonly path: string;
  readonly readOnly?: boolean | undefined;
}

export interface RunAs {
  readonly user: string;
  readonly workdir: string;
}

/** A tag, the build that it points to, and who may use it. */
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

/** The cached result of a build step. */
export interface CachedResult {
  readonly key: string;
  /** JSON. */
  readonly result: string;
}

/** One assignment of a tag to a build; times in milliseconds since 1970. */
export interface TagAssignment {
  readonly tag: string;
  readonly buildId: string;
  readonly assignedAt: number;
  readonly buildCreatedAt: number;
  readonly buildFinishedAt?: number;
}

export type TemplateKind = "template" | "snapshot";

/** What holds for the sandboxes of a template, and for what was made of it. */
export interface TemplateSettings {
  /** In place of the team's rules of the same kinds. */
  readonly retention?: Retention;
  /** The most that a sandbox of it may have. */
  readonly maxResources?: { readonly cpuCount?: number; readonly memoryMB?: number; readonly diskSizeMB?: number };
  /** The idle time in seconds of sandboxes for which none is asked. */
  readonly idleTimeout?: number;
}

export interface TemplateRecord {
  readonly id: TemplateId;
  readonly teamId: TeamId;
  /** Slug of the team. */
  readonly namespace: string;
  readonly name?: string;
  /** `snapshot`: its versions are snapshots of sandboxes; clients find it among the snapshots, and not among the templates. */
  readonly kind: TemplateKind;
  readonly isPublic: boolean;
  readonly settings: TemplateSettings;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly spawnCount: number;
  readonly lastSpawnedAt?: number;
}

/** `waiting`: requested; `building`: started, which includes the queue; `ready` and `error`: ended. */
export type BuildStatus = "waiting" | "building" | "ready" | "error";

export interface BuildRecord {
  readonly id: string;
  readonly templateId: TemplateId;
  readonly status: BuildStatus;
  /** The tags that point to the build once it is ready. */
  readonly tags: readonly string[];
  readonly resources: { readonly cpuCount: number; readonly memoryMB: number; readonly diskMB: number };
  /** Why it failed, and in which step. */
  readonly reason?: { readonly message: string; readonly step?: string };
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  /** What sandboxes start from; undefined until the build has made it. */
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
