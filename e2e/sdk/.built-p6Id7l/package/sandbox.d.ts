import { asyncDispose } from "./async-dispose.js";
import { Commands } from "./commands.js";
import { type ConnectionOptions } from "./config.js";
import { Files } from "./files.js";
import { Paginator } from "./paginator.js";
import { Pty } from "./pty.js";
import type { RequestOptions } from "./request-scope.js";
import * as calls from "./sandbox-api.js";
import type { SandboxInfo, SandboxMetrics } from "./sandbox-info.js";
export interface SandboxCreateOpts extends ConnectionOptions, calls.CreateOptions {}
export interface SandboxConnectOpts extends ConnectionOptions {
  /** At least this lifetime from now, in milliseconds; never shortens the one it has. Default 300000. */
  readonly timeoutMs?: number | undefined;
}
export interface SandboxListOpts extends ConnectionOptions, calls.ListOptions {}
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
  /** Header value for requests to the sandbox's own ports, when these are not public. */
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
  /** Samples of what a sandbox uses, oldest first. */
  static getMetrics(
    sandboxId: string,
    opts?: ConnectionOptions & {
      readonly start?: Date;
      readonly end?: Date;
    },
  ): Promise<SandboxMetrics[]>;
  getInfo(opts?: RequestOptions): Promise<SandboxInfo>;
  /** Samples of what the sandbox uses, oldest first. */
  getMetrics(
    opts?: RequestOptions & {
      readonly start?: Date;
      readonly end?: Date;
    },
  ): Promise<SandboxMetrics[]>;
  /** Ends the sandbox with all that is in it. False when it was gone already. */
  kill(opts?: RequestOptions): Promise<boolean>;
  /** Sets the lifetime, in milliseconds from now; longer or shorter than it was. */
  setTimeout(timeoutMs: number, opts?: RequestOptions): Promise<void>;
  /** True when the sandbox's agent answers, false when the sandbox has ended or is paused. */
  isRunning(opts?: RequestOptions): Promise<boolean>;
  /** Host name under which a port of the sandbox is reached from outside; for `http://` in front where the API has it. */
  getHost(port: number): string;
  /** Base URL of a port of the sandbox, with the scheme of the API. */
  getUrl(port: number): string;
  /** A URL from which anybody can download this file. */
  downloadUrl(path: string, opts?: FileUrlOpts): Promise<string>;
  /** A URL to which anybody can POST this file, or, without a path, any file as a form. */
  uploadUrl(path?: string, opts?: FileUrlOpts): Promise<string>;
  [asyncDispose](): Promise<void>;
  private fileUrl;
}
