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
/** Something that happened to a sandbox. */
export interface SandboxLogEntry {
    readonly timestamp: Date;
    readonly level: "debug" | "info" | "warn" | "error";
    readonly message: string;
    /** For programs, e.g. `event` (`started`, `ended`) and, of an end, its `cause`. */
    readonly fields: Readonly<Record<string, string>>;
}
/** A state of a sandbox that is kept; `Sandbox.create(snapshotId)` makes a sandbox of it. */
export interface SnapshotInfo {
    readonly snapshotId: string;
    /** Full names, if it was given one. */
    readonly names: readonly string[];
}
export declare function accessFromJson(value: unknown): SandboxAccess;
export declare function snapshotFromJson(value: unknown): SnapshotInfo;
export declare function infoFromJson(value: unknown): SandboxInfo;
export declare function metricsFromJson(value: unknown): SandboxMetrics;
export declare function logFromJson(value: unknown): SandboxLogEntry;
