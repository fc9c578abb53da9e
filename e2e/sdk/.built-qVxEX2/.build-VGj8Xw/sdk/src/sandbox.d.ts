import { asyncDispose } from "./async-dispose.ts";
import { Commands } from "./commands.ts";
import { type ConnectionOptions } from "./config.ts";
import { type BoxyardError } from "./errors.ts";
import { Files } from "./files.ts";
import { Git } from "./git.ts";
import { Paginator } from "./paginator.ts";
import { Pty } from "./pty.ts";
import type { RequestOptions } from "./request-scope.ts";
import * as calls from "./sandbox-api.ts";
import type { SandboxInfo, SandboxLogEntry, SandboxMetrics, SnapshotInfo } from "./sandbox-info.ts";
import * as snapshots from "./snapshot-api.ts";
export interface SandboxCreateOpts extends ConnectionOptions, calls.CreateOptions {
}
export interface SandboxConnectOpts extends ConnectionOptions {
    /** At least this lifetime from now, in milliseconds; never shortens the one it has. Default 300000. */
    readonly timeoutMs?: number | undefined;
}
export interface SandboxListOpts extends ConnectionOptions, calls.ListOptions {
}
export interface SnapshotListOpts extends ConnectionOptions, snapshots.SnapshotListOptions {
}
/** One of the copies that `fork` was asked for, or why there is none. */
export type ForkResult = {
    readonly sandbox: Sandbox;
    readonly error?: undefined;
} | {
    readonly sandbox?: undefined;
    readonly error: BoxyardError;
};
export interface FileUrlOpts {
    /** Who reads or owns. Default: the user of the template. */
    readonly user?: string | undefined;
    /** The URL works for this many seconds. Default: as long as the sandbox lives. */
    readonly expiresInSeconds?: number | undefined;
}
/**
 * A sandbox: an isolated Linux machine with files and commands. `Sandbox.create()` starts one, `Sandbox.connect(id)` comes back to one.
 * With `await using` it is killed at the end of the block.
 *
 * ```ts
 * await using sandbox = await Sandbox.create();
 * const { stdout } = await sandbox.commands.run("echo hello");
 * ```
 */
export declare class Sandbox {
    readonly sandboxId: string;
    /** Runs commands. */
    readonly commands: Commands;
    /** Runs terminal sessions. */
    readonly pty: Pty;
    /** Reads and changes files. */
    readonly files: Files;
    /** Works with git repositories. */
    readonly git: Git;
    /** Value of the header `e2b-traffic-access-token` that requests to the sandbox's own ports need, when these are not public. */
    readonly trafficAccessToken: string | undefined;
    private readonly api;
    private readonly address;
    private readonly domain;
    private constructor();
    /** Starts a sandbox from a template (default `base`). */
    static create(template: string, opts?: Omit<SandboxCreateOpts, "template">): Promise<Sandbox>;
    static create(opts?: SandboxCreateOpts): Promise<Sandbox>;
    /** Comes back to a running sandbox, or resumes a paused one. */
    static connect(sandboxId: string, opts?: SandboxConnectOpts): Promise<Sandbox>;
    /** All sandboxes of this API key's team: `for await (const info of Sandbox.list())`. */
    static list(opts?: SandboxListOpts): Paginator<SandboxInfo>;
    /** Kills a sandbox by id. False when there is no such sandbox. */
    static kill(sandboxId: string, opts?: ConnectionOptions): Promise<boolean>;
    /** Looks at a sandbox by id, without resuming a paused one. */
    static getInfo(sandboxId: string, opts?: ConnectionOptions): Promise<SandboxInfo>;
    /** Sets a sandbox's lifetime, in milliseconds from now; longer or shorter than it was. */
    static setTimeout(sandboxId: string, timeoutMs: number, opts?: ConnectionOptions): Promise<void>;
    /** Pauses a sandbox by id; see {@link Sandbox.pause}. */
    static pause(sandboxId: string, opts?: ConnectionOptions & snapshots.PauseOptions): Promise<boolean>;
    /** All snapshots of this API key's team: `for await (const info of Sandbox.listSnapshots())`. */
    static listSnapshots(opts?: SnapshotListOpts): Paginator<SnapshotInfo>;
    /** Deletes a snapshot; sandboxes made from it go on. False when there is no such snapshot. */
    static deleteSnapshot(snapshotId: string, opts?: ConnectionOptions): Promise<boolean>;
    /** Samples of what a sandbox uses, oldest first. */
    static getMetrics(sandboxId: string, opts?: ConnectionOptions & {
        readonly start?: Date;
        readonly end?: Date;
    }): Promise<SandboxMetrics[]>;
    /** Replaces a sandbox's rules of what may leave it, at once and for open connections too. */
    static updateNetwork(sandboxId: string, update: calls.NetworkUpdate, opts?: ConnectionOptions): Promise<void>;
    /** What happened to a sandbox, oldest first; of one that has ended also why, for two days. */
    static getLogs(sandboxId: string, opts?: ConnectionOptions & calls.LogOptions): Promise<SandboxLogEntry[]>;
    getInfo(opts?: RequestOptions): Promise<SandboxInfo>;
    /** Samples of what the sandbox uses, oldest first. */
    getMetrics(opts?: RequestOptions & {
        readonly start?: Date;
        readonly end?: Date;
    }): Promise<SandboxMetrics[]>;
    /** What happened to the sandbox, oldest first. */
    getLogs(opts?: RequestOptions & calls.LogOptions): Promise<SandboxLogEntry[]>;
    /** Ends the sandbox with all that is in it. False when it was gone already. */
    kill(opts?: RequestOptions): Promise<boolean>;
    /** Sets the lifetime, in milliseconds from now; longer or shorter than it was. */
    setTimeout(timeoutMs: number, opts?: RequestOptions): Promise<void>;
    /**
     * Stops the sandbox and keeps its state, memory included, until {@link Sandbox.resume} or `Sandbox.connect`. False when it was paused already.
     * An `UnsupportedError` where the server cannot do it, as with all that follows from it: resume, forks, snapshots.
     */
    pause(opts?: RequestOptions & snapshots.PauseOptions): Promise<boolean>;
    /** Goes on after a pause, with at least this lifetime from now (default 300000 ms). One that runs goes on running. */
    resume(opts?: RequestOptions & {
        readonly timeoutMs?: number | undefined;
    }): Promise<void>;
    /** Makes running copies of the sandbox as it is now, memory included; it goes on itself. One result for each. */
    fork(opts?: RequestOptions & snapshots.ForkOptions): Promise<ForkResult[]>;
    /** Keeps the sandbox's state as it is now; it goes on. `Sandbox.create(snapshotId)` makes sandboxes of it. */
    createSnapshot(opts?: RequestOptions & snapshots.SnapshotOptions): Promise<SnapshotInfo>;
    /** Replaces the rules of what may leave the sandbox, at once and for open connections too. The server refuses what it cannot enforce. */
    updateNetwork(update: calls.NetworkUpdate, opts?: RequestOptions): Promise<void>;
    /** True when the sandbox's agent answers, false when the sandbox has ended or is paused. */
    isRunning(opts?: RequestOptions): Promise<boolean>;
    /** Host name under which a port of the sandbox is reached from outside; for `http://` in front where the API has it. */
    getHost(port: number): string;
    /** Base URL of a port of the sandbox, with the scheme of the API. */
    getUrl(port: number): string;
    /** A URL from which anybody can download this file. */
    downloadUrl(path: string, opts?: FileUrlOpts): Promise<string>;
    /**
     * A URL to which anybody can POST this file: its bytes with `Content-Type: application/octet-stream`, or a form (`multipart/form-data`) with
     * the part `file`. Without a path any file, as a form whose file name says where.
     */
    uploadUrl(path?: string, opts?: FileUrlOpts): Promise<string>;
    [asyncDispose](): Promise<void>;
    private fileUrl;
}
