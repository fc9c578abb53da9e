/** A paused sandbox keeps its files and, unless told otherwise, its memory and processes; connecting resumes it. */
export type SandboxState = "running" | "paused";
export interface SandboxInfo {
  readonly sandboxId: string;
  readonly templateId: string;
  /** Name of the template, if it has one. */
  readonly name?: string;
  readonly state: SandboxState;
  readonly startedAt: Date;
  /** When it ends unless its timeout is set again; of a paused sandbox, when it was paused. */
  readonly endAt: Date;
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly diskSizeMB: number;
  readonly metadata: Readonly<Record<string, string>>;
  /** Version of the agent. */
  readonly envdVersion: string;
}
/** A sample of what a sandbox uses. Sizes are bytes. */
export interface SandboxMetrics {
  readonly timestamp: Date;
  readonly cpuCount: number;
  /** 100 is one core fully used. */
  readonly cpuUsedPct: number;
  readonly memUsed: number;
  readonly memTotal: number;
  readonly memCache: number;
  readonly diskUsed: number;
  readonly diskTotal: number;
}
/** What a server says about a sandbox that may be used now. */
export interface SandboxAccess {
  readonly sandboxId: string;
  readonly envdVersion: string;
  readonly accessToken: string | undefined;
  readonly domain: string | undefined;
  readonly trafficAccessToken: string | undefined;
}
export declare function accessFromJson(value: unknown): SandboxAccess;
export declare function infoFromJson(value: unknown): SandboxInfo;
export declare function metricsFromJson(value: unknown): SandboxMetrics;
