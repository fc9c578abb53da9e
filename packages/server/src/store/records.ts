import type { SandboxId, SandboxState, TeamId, TemplateId } from "@boxyard/core";
import type { ImageRef, ResourceLimits } from "@boxyard/driver";

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
  | "released";

/** The part of a sandbox that never changes after its creation. */
export interface SandboxFacts {
  readonly alias: string;
  readonly image: ImageRef;
  readonly resources: ResourceLimits;
  readonly internetAccess: boolean;
  readonly allowPublicTraffic: boolean;
  readonly maskRequestHost?: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The user's own environment; needed again at a resume. Never logged. */
  readonly envVars: Readonly<Record<string, string>>;
  readonly user: string;
  readonly workdir: string;
  readonly initKey: string;
  /** Lifetime asked for at create. */
  readonly timeoutMs: number;
}

export interface SandboxRecord {
  readonly id: SandboxId;
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

/** One version of a template: what a sandbox starts from. */
export interface TemplateSpec {
  readonly image: ImageRef;
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly diskMB: number;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly workdir: string;
}

export interface TemplateVersion {
  readonly templateId: TemplateId;
  readonly name: string;
  readonly tag: string;
  readonly buildId: string;
  readonly spec: TemplateSpec;
}

export interface IdempotencyRecord {
  readonly teamId: TeamId;
  readonly key: string;
  /** SHA-256 of what was asked for. */
  readonly fingerprint: string;
  readonly sandboxId: SandboxId;
  readonly createdAt: number;
}
