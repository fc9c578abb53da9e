import { asyncDispose } from "../async-dispose.ts";
import { Commands } from "../commands/commands.ts";
import type { CallContext } from "../connection/agent-call.ts";
import { createSandboxTransport, probeHealth } from "../connection/agent-connection.ts";
import { ApiClient } from "../connection/api-client.ts";
import { type ConnectionOptions, resolveConfig } from "../connection/config.ts";
import { type Probe, probeOf } from "../connection/lost-connection.ts";
import type { RequestOptions } from "../connection/request-scope.ts";
import type { BoxyardError } from "../errors.ts";
import { Files } from "../files/files.ts";
import { Git } from "../git/git.ts";
import { Pty } from "../pty/pty.ts";
import { agentLog } from "./agent-log.ts";
import { isRunning } from "./is-running.ts";
import * as names from "./named-api.ts";
import { getNetworkLog, type NetworkLogEntry, type NetworkLogOptions, type SuggestedNetwork, suggestNetwork } from "./network-log.ts";
import type { Paginator } from "./paginator.ts";
import { newClaim, prepare } from "./prepare.ts";
import * as calls from "./sandbox-api.ts";
import type { RollbackResult, SandboxAccess, SandboxInfo, SandboxLogEntry, SandboxMetrics, SnapshotInfo } from "./sandbox-info.ts";
import type { SandboxConnectOpts, SandboxCreateOpts, SandboxListOpts, SnapshotListOpts } from "./sandbox-options.ts";
import { SandboxPorts } from "./sandbox-ports.ts";
import { Sandboxes } from "./sandboxes.ts";
import * as snapshots from "./snapshot-api.ts";

export interface SandboxNamedOpts extends ConnectionOptions, names.NamedOptions {
  /** 1 to 63 letters, digits, `.`, `_` and `-`. One living or paused sandbox of a team has it. */
  readonly name: string;
  /** Prepares a sandbox that this call has created; other callers get it after that. */
  readonly onCreate?: ((sandbox: Sandbox) => Promise<void> | void) | undefined;
  /** Runs if this call has resumed the sandbox. Other callers do not wait for it. */
  readonly onResume?: ((sandbox: Sandbox) => Promise<void> | void) | undefined;
}

/** One copy that `fork` made, or the error that prevented it. */
export type ForkResult =
  | { readonly sandbox: Sandbox; readonly error?: undefined }
  | { readonly sandbox?: undefined; readonly error: BoxyardError };

/**
 * A sandbox: an isolated Linux machine with files and commands. `Sandbox.create()` starts one, `Sandbox.connect(id)` connects to one.
 * With `await using` it is killed at the end of the block.
 *
 * ```ts
 * await using sandbox = await Sandbox.create();
 * const { stdout } = await sandbox.commands.run("echo hello");
 * ```
 */
export class Sandbox extends SandboxPorts {
  /** Runs commands. */
  readonly commands: Commands;
  /** Runs terminal sessions. */
  readonly pty: Pty;
  /** Reads and changes files. */
  readonly files: Files;
  /** Works with git repositories. */
  readonly git: Git;
  private readonly metadata: CallContext["metadata"] & { readonly probe: Probe };

  private constructor(api: ApiClient, access: SandboxAccess) {
    super(api, access);
    const transport = createSandboxTransport(this.address);
    this.metadata = { version: access.envdVersion, probe: probeOf(() => probeHealth(this.address), api.runs) };
    this.commands = new Commands(transport, api.config, this.metadata);
    this.pty = new Pty(transport, api.config, this.metadata);
    this.git = new Git(this.commands);
    this.files = new Files(transport, api.config, this.metadata, this.address);
  }

  /** Starts a sandbox from a template (default `base`). */
  static create(template: string, opts?: Omit<SandboxCreateOpts, "template">): Promise<Sandbox>;
  static create(opts?: SandboxCreateOpts): Promise<Sandbox>;
  static async create(first: string | SandboxCreateOpts = {}, second: SandboxCreateOpts = {}): Promise<Sandbox> {
    const opts = typeof first === "string" ? { ...second, template: first } : first;
    const api = new ApiClient(resolveConfig(opts));
    return new Sandbox(api, await calls.createSandbox(api, opts, {}));
  }

  /**
   * Gets the sandbox of this name in your team: connects to it, resumes it if it is paused, or creates it. Of all callers at once one creates it and
   * runs `onCreate`; the others wait for that, each up to its `requestTimeoutMs`. If `onCreate` fails, or its program ends, the sandbox is removed,
   * and the next caller creates another.
   *
   * @throws ConnectionError, reason `sandbox_in_setup`, if another caller was not done in time.
   */
  static async getOrCreate(opts: SandboxNamedOpts): Promise<Sandbox> {
    const { name, onCreate, onResume } = opts;
    const api = new ApiClient(resolveConfig(opts));
    const claim = onCreate && newClaim();
    const { access, outcome } = await names.getOrCreateSandbox(api, name, opts, claim);
    const sandbox = new Sandbox(api, access);
    if (outcome === "created" && claim) {
      await prepare(api, sandbox.sandboxId, claim, () => onCreate(sandbox)).catch(async (error: unknown) => {
        await sandbox.kill().catch(() => {});
        throw error;
      });
    }
    if (outcome === "resumed") await onResume?.(sandbox);
    return sandbox;
  }

  /** Connects to a running sandbox, or resumes a paused one. */
  static async connect(sandboxId: string, opts: SandboxConnectOpts = {}): Promise<Sandbox> {
    const api = new ApiClient(resolveConfig(opts));
    return new Sandbox(api, await calls.connectSandbox(api, sandboxId, opts.timeoutMs, {}));
  }

  /** Lists all sandboxes of this API key's team: `for await (const info of Sandbox.list())`. */
  static list(opts: SandboxListOpts = {}): Paginator<SandboxInfo> {
    return Sandboxes.list(opts);
  }

  /** Kills a sandbox by id. False if there is no such sandbox. */
  static kill(sandboxId: string, opts: ConnectionOptions = {}): Promise<boolean> {
    return Sandboxes.kill(sandboxId, opts);
  }

  /** Gets information about a sandbox by id. Does not resume a paused sandbox. */
  static getInfo(sandboxId: string, opts: ConnectionOptions = {}): Promise<SandboxInfo> {
    return Sandboxes.getInfo(sandboxId, opts);
  }

  /** Sets a sandbox's lifetime, in milliseconds from now. It can be longer or shorter than before. */
  static setTimeout(sandboxId: string, timeoutMs: number, opts: ConnectionOptions = {}): Promise<void> {
    return Sandboxes.setTimeout(sandboxId, timeoutMs, opts);
  }

  /** Sets a sandbox's idle time by id; see {@link Sandbox.setIdleTimeout}. */
  static setIdleTimeout(sandboxId: string, idleTimeoutMs: number | undefined, opts: ConnectionOptions = {}): Promise<void> {
    return Sandboxes.setIdleTimeout(sandboxId, idleTimeoutMs, opts);
  }

  /** Gives a sandbox another name; an empty one takes its name away. Throws `ConflictError`, reason `sandbox_name_taken`, if another sandbox has the name. */
  static rename(sandboxId: string, name: string, opts: ConnectionOptions = {}): Promise<void> {
    return Sandboxes.rename(sandboxId, name, opts);
  }

  /** Changes the size of a sandbox by id; see {@link Sandbox.resize}. */
  static resize(sandboxId: string, resources: calls.SandboxResources, opts: ConnectionOptions = {}): Promise<SandboxInfo> {
    return Sandboxes.resize(sandboxId, resources, opts);
  }

  /** Pauses a sandbox by id; see {@link Sandbox.pause}. */
  static pause(sandboxId: string, opts: ConnectionOptions & snapshots.PauseOptions = {}): Promise<boolean> {
    return Sandboxes.pause(sandboxId, opts);
  }

  /** Makes running copies of a sandbox by id; see {@link Sandbox.fork}. */
  static fork(sandboxId: string, opts: ConnectionOptions & snapshots.ForkOptions = {}): Promise<ForkResult[]> {
    return Sandbox.forksOf(new ApiClient(resolveConfig(opts)), sandboxId, opts, {});
  }

  private static async forksOf(api: ApiClient, id: string, fork: snapshots.ForkOptions, options: RequestOptions): Promise<ForkResult[]> {
    const forks = await snapshots.forkSandbox(api, id, fork, options);
    return forks.map((one) => ("error" in one ? one : { sandbox: new Sandbox(api, one.access) }));
  }

  /** Takes a snapshot of a sandbox by id; see {@link Sandbox.createSnapshot}. */
  static createSnapshot(sandboxId: string, opts: ConnectionOptions & snapshots.SnapshotOptions = {}): Promise<SnapshotInfo> {
    return Sandboxes.createSnapshot(sandboxId, opts);
  }

  /** Resets a sandbox to one of its snapshots; see {@link Sandbox.rollback}. */
  static rollback(sandboxId: string, snapshotId: string, opts: ConnectionOptions = {}): Promise<RollbackResult> {
    return Sandboxes.rollback(sandboxId, snapshotId, opts);
  }

  /** Lists all snapshots of this API key's team, newest first: `for await (const info of Sandbox.listSnapshots())`. */
  static listSnapshots(opts: SnapshotListOpts = {}): Paginator<SnapshotInfo> {
    return Sandboxes.listSnapshots(opts);
  }

  /** Deletes a snapshot. False if there is no such snapshot. Throws `InvalidArgumentError` while sandboxes that were created from it exist. */
  static deleteSnapshot(snapshotId: string, opts: ConnectionOptions = {}): Promise<boolean> {
    return Sandboxes.deleteSnapshot(snapshotId, opts);
  }

  /** Samples of a sandbox's CPU, memory and disk use, oldest first. */
  static getMetrics(
    sandboxId: string,
    opts: ConnectionOptions & { readonly start?: Date; readonly end?: Date } = {},
  ): Promise<SandboxMetrics[]> {
    return Sandboxes.getMetrics(sandboxId, opts);
  }

  /** Replaces a sandbox's rules for outgoing connections. The rules apply at once, also to open connections. */
  static updateNetwork(sandboxId: string, update: calls.NetworkUpdate, opts: ConnectionOptions = {}): Promise<void> {
    return Sandboxes.updateNetwork(sandboxId, update, opts);
  }

  /** The events of a sandbox, oldest first. The log of a sandbox that has ended also has the cause of the end, and stays for two days. */
  static getLogs(sandboxId: string, opts: ConnectionOptions & calls.LogOptions = {}): Promise<SandboxLogEntry[]> {
    return Sandboxes.getLogs(sandboxId, opts);
  }

  getInfo(opts: RequestOptions = {}): Promise<SandboxInfo> {
    return calls.getSandboxInfo(this.api, this.sandboxId, opts);
  }

  /** Samples of the sandbox's CPU, memory and disk use, oldest first. */
  getMetrics(opts: RequestOptions & { readonly start?: Date; readonly end?: Date } = {}): Promise<SandboxMetrics[]> {
    return calls.getSandboxMetrics(this.api, this.sandboxId, opts, opts);
  }

  /** The events of the sandbox, oldest first. */
  getLogs(opts: RequestOptions & calls.LogOptions = {}): Promise<SandboxLogEntry[]> {
    return calls.getSandboxLogs(this.api, this.sandboxId, opts, opts);
  }

  /** The last lines of the log of the sandbox's agent, oldest first. Throws `NotFoundError` if the agent is too old to provide its log. */
  getAgentLog(opts: RequestOptions = {}): Promise<string[]> {
    return agentLog(this.address, { config: this.api.config, metadata: this.metadata }, opts);
  }

  /** Kills the sandbox and deletes its files. False if it had ended already. */
  kill(opts: RequestOptions = {}): Promise<boolean> {
    return calls.killSandbox(this.api, this.sandboxId, opts);
  }

  /** Sets the lifetime, in milliseconds from now. It can be longer or shorter than before. */
  setTimeout(timeoutMs: number, opts: RequestOptions = {}): Promise<void> {
    return calls.setSandboxTimeout(this.api, this.sandboxId, timeoutMs, opts);
  }

  /**
   * Stops the sandbox and keeps its state, including memory, until {@link Sandbox.resume} or `Sandbox.connect`. False if it was paused already.
   * On a machine that cannot save memory, this throws `ConnectionError`, as forks and snapshots do; use `keepMemory: false` there.
   */
  pause(opts: RequestOptions & snapshots.PauseOptions = {}): Promise<boolean> {
    return snapshots.pauseSandbox(this.api, this.sandboxId, opts, opts);
  }

  /** Resumes the sandbox after a pause, with at least this lifetime from now (default 300000 ms). A running sandbox keeps running. */
  async resume(opts: RequestOptions & { readonly timeoutMs?: number | undefined } = {}): Promise<void> {
    await calls.connectSandbox(this.api, this.sandboxId, opts.timeoutMs, opts);
  }

  /** Makes running copies of the sandbox in its present state, including memory. The sandbox keeps running. Returns one result for each copy. */
  fork(opts: RequestOptions & snapshots.ForkOptions = {}): Promise<ForkResult[]> {
    return Sandbox.forksOf(this.api, this.sandboxId, opts, opts);
  }

  /**
   * Resets the sandbox to one of its snapshots, or to the snapshot that it was created from. The disk and the processes become those of the
   * snapshot; id, token, metadata and end of the sandbox stay. Open connections are closed. If this fails, the sandbox keeps running as before.
   * Volumes are never set back: the result names those of the sandbox, whose files are as before.
   */
  rollback(snapshotId: string, opts: RequestOptions = {}): Promise<RollbackResult> {
    return snapshots.rollbackSandbox(this.api, this.sandboxId, snapshotId, opts);
  }

  /**
   * Takes a snapshot of the sandbox, including memory. The sandbox keeps running. `Sandbox.create(snapshotId)` creates sandboxes from the snapshot. The files
   * of volumes are not kept; the result names these volumes.
   */
  createSnapshot(opts: RequestOptions & snapshots.SnapshotOptions = {}): Promise<SnapshotInfo> {
    return snapshots.createSnapshot(this.api, this.sandboxId, opts, opts);
  }

  /** Sets for how many milliseconds, from now on, the sandbox may be idle before it ends or is paused; undefined: for all its lifetime. */
  setIdleTimeout(idleTimeoutMs: number | undefined, opts: RequestOptions = {}): Promise<void> {
    return names.setSandboxIdleTimeout(this.api, this.sandboxId, idleTimeoutMs, opts);
  }

  /**
   * Changes processors, memory and disk of the running sandbox, at once; pauses, forks and snapshots keep the new size. Throws `InvalidArgumentError`: reason
   * `memory_in_use` or `disk_in_use` below what the sandbox uses, `size_too_large` above what the machine has. The size is as before then.
   */
  resize(resources: calls.SandboxResources, opts: RequestOptions = {}): Promise<SandboxInfo> {
    return names.resizeSandbox(this.api, this.sandboxId, resources, opts);
  }

  /** What the sandbox has tried to reach, oldest first: the newest thousand attempts, with what decided each. */
  getNetworkLog(opts: RequestOptions & NetworkLogOptions = {}): Promise<NetworkLogEntry[]> {
    return getNetworkLog(this.api, this.sandboxId, opts, opts);
  }

  /** The smallest rules that let through what the sandbox has tried to reach; see docs/network.md, "The record". */
  suggestNetwork(opts: RequestOptions = {}): Promise<SuggestedNetwork> {
    return suggestNetwork(this.api, this.sandboxId, opts);
  }

  /** Replaces the rules for outgoing connections. They apply at once, also to open connections. The server refuses rules that it cannot enforce. */
  updateNetwork(update: calls.NetworkUpdate, opts: RequestOptions = {}): Promise<void> {
    return calls.updateSandboxNetwork(this.api, this.sandboxId, update, opts);
  }

  /** True if the sandbox's agent answers; false if the sandbox has ended or is paused. */
  isRunning(opts: RequestOptions = {}): Promise<boolean> {
    return isRunning(this.address, this.api.config, opts);
  }

  async [asyncDispose](): Promise<void> {
    await this.kill();
  }
}
