import type { ApiClient } from "./api-client.ts";
import { type BoxyardError } from "./errors.ts";
import type { RequestOptions } from "./request-scope.ts";
import { type Page } from "./sandbox-api.ts";
import { type SandboxAccess, type SnapshotInfo } from "./sandbox-info.ts";
export interface PauseOptions {
    /** False: only the disk is kept, and a resume starts the sandbox anew from it. Default true. */
    readonly keepMemory?: boolean | undefined;
}
/** True when the sandbox was paused by this, false when it was paused already. */
export declare function pauseSandbox(api: ApiClient, id: string, pause: PauseOptions, options: RequestOptions): Promise<boolean>;
export interface ForkOptions {
    /** How many; 1 to 100. Default 1. */
    readonly count?: number | undefined;
    /** Lifetime of each in milliseconds from now. Default 300000. */
    readonly timeoutMs?: number | undefined;
}
/** What became of one of the wanted copies. */
export type Forked = {
    readonly access: SandboxAccess;
} | {
    readonly error: BoxyardError;
};
export declare function forkSandbox(api: ApiClient, id: string, fork: ForkOptions, options: RequestOptions): Promise<Forked[]>;
export interface SnapshotOptions {
    /** A name to find it by; the same name again keeps a new state under it. */
    readonly name?: string | undefined;
}
export declare function createSnapshot(api: ApiClient, id: string, snapshot: SnapshotOptions, options: RequestOptions): Promise<SnapshotInfo>;
export interface SnapshotListOptions extends RequestOptions {
    /** Only those of this sandbox. */
    readonly sandboxId?: string | undefined;
    /** Only this one: a name, `name:tag`, or an id. */
    readonly name?: string | undefined;
    /** Page size, 1 to 100. Default 100. */
    readonly limit?: number | undefined;
    /** Where to go on, from an earlier page. */
    readonly nextToken?: string | undefined;
}
export declare function listSnapshots(api: ApiClient, opts: SnapshotListOptions, options: RequestOptions): Promise<Page<SnapshotInfo>>;
/** False when there was no such snapshot. */
export declare function deleteSnapshot(api: ApiClient, snapshotId: string, options: RequestOptions): Promise<boolean>;
