/** `waiting`: requested, not started. */
export type BuildState = "waiting" | "building" | "ready" | "error";
/** A line of a build's log. */
export interface BuildLogEntry {
    readonly timestamp: Date;
    readonly level: "debug" | "info" | "warn" | "error";
    readonly message: string;
    /** `base`, the number of a step from 1 on, or `finalize`; undefined of what belongs to none. */
    readonly step: string | undefined;
}
export interface BuildStatus {
    readonly status: BuildState;
    /** A page of the log, from the offset asked for; empty when there is no more yet. */
    readonly logs: readonly BuildLogEntry[];
    /** Why it failed, and at which step. */
    readonly reason: {
        readonly message: string;
        readonly step: string | undefined;
    } | undefined;
}
/** A template and its newest build. */
export interface TemplateInfo {
    readonly templateId: string;
    readonly buildId: string;
    readonly names: readonly string[];
    readonly buildStatus: BuildState;
    /** True: others than its owners may use it. */
    readonly isPublic: boolean;
    readonly cpuCount: number;
    readonly memoryMB: number;
    readonly diskSizeMB: number;
    readonly createdAt: Date;
    readonly updatedAt: Date;
    /** When a sandbox was last created from it. */
    readonly lastUsedAt: Date | undefined;
    /** Sandboxes created from it so far. */
    readonly useCount: number;
    readonly buildCount: number;
    readonly envdVersion: string;
}
/** A name for one build of a template. */
export interface TemplateTag {
    readonly tag: string;
    readonly buildId: string;
    readonly createdAt: Date;
}
export declare function buildFromJson(value: unknown): BuildStatus;
export declare function templateFromJson(value: unknown): TemplateInfo;
export declare function tagFromJson(value: unknown): TemplateTag;
