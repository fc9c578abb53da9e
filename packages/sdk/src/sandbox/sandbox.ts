import { AGENT_PORT } from "@boxyard/spec";
import { asyncDispose } from "../async-dispose.ts";
import { Commands } from "../commands/commands.ts";
import type { CallContext } from "../connection/agent-call.ts";
import { type AgentAddress, agentBaseUrl, createSandboxTransport, probeHealth } from "../connection/agent-connection.ts";
import { ApiClient } from "../connection/api-client.ts";
import { type ConnectionOptions, resolveConfig } from "../connection/config.ts";
import { type Probe, probeOf } from "../connection/lost-connection.ts";
import { type RequestOptions, RequestScope } from "../connection/request-scope.ts";
import { type BoxyardError, ConnectionError } from "../errors.ts";
import { Files } from "../files/files.ts";
import { Git } from "../git/git.ts";
import { Pty } from "../pty/pty.ts";
import { agentLog } from "./agent-log.ts";
import { fileUrl } from "./file-url.ts";
import { Paginator } from "./paginator.ts";
import { domainOf, fetchPort, type PortAccess, type PortFetchOpts, portAccess, portUrl } from "./port-access.ts";
import * as calls from "./sandbox-api.ts";
import type { SandboxAccess, SandboxInfo, SandboxLogEntry, SandboxMetrics, SnapshotInfo } from "./sandbox-info.ts";
import type { FileUrlOpts, SandboxConnectOpts, SandboxCreateOpts, SandboxListOpts, SnapshotListOpts } from "./sandbox-options.ts";
import * as snapshots from "./snapshot-api.ts";

/** One of the copies that `fork` was asked for, or why there is none. */
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
export class Sandbox {
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
  private readonly api: ApiClient;
  private readonly address: AgentAddress;
  private readonly domain: string | undefined;
  private readonly metadata: CallContext["metadata"] & { readonly probe: Probe };

  private constructor(api: ApiClient, access: SandboxAccess) {
    this.api = api;
    this.sandboxId = access.sandboxId;
    this.trafficAccessToken = access.trafficAccessToken;
    this.domain = access.domain;
    this.address = { sandboxId: access.sandboxId, accessToken: access.accessToken, baseUrl: agentBaseUrl(api.config) };
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

  /** Connects to a running sandbox, or resumes a paused one. */
  static async connect(sandboxId: string, opts: SandboxConnectOpts = {}): Promise<Sandbox> {
    const api = new ApiClient(resolveConfig(opts));
    return new Sandbox(api, await calls.connectSandbox(api, sandboxId, opts.timeoutMs, {}));
  }

  /** All sandboxes of this API key's team: `for await (const info of Sandbox.list())`. */
  static list(opts: SandboxListOpts = {}): Paginator<SandboxInfo> {
    const api = new ApiClient(resolveConfig(opts));
    return new Paginator((nextToken) => calls.listSandboxes(api, { ...opts, nextToken }, {}), opts.nextToken);
  }

  /** Kills a sandbox by id. False when there is no such sandbox. */
  static kill(sandboxId: string, opts: ConnectionOptions = {}): Promise<boolean> {
    return calls.killSandbox(new ApiClient(resolveConfig(opts)), sandboxId, {});
  }

  /** Looks at a sandbox by id, without resuming a paused one. */
  static getInfo(sandboxId: string, opts: ConnectionOptions = {}): Promise<SandboxInfo> {
    return calls.getSandboxInfo(new ApiClient(resolveConfig(opts)), sandboxId, {});
  }

  /** Sets a sandbox's lifetime, in milliseconds from now; longer or shorter than it was. */
  static setTimeout(sandboxId: string, timeoutMs: number, opts: ConnectionOptions = {}): Promise<void> {
    return calls.setSandboxTimeout(new ApiClient(resolveConfig(opts)), sandboxId, timeoutMs, {});
  }

  /** Pauses a sandbox by id; see {@link Sandbox.pause}. */
  static pause(sandboxId: string, opts: ConnectionOptions & snapshots.PauseOptions = {}): Promise<boolean> {
    return snapshots.pauseSandbox(new ApiClient(resolveConfig(opts)), sandboxId, opts, {});
  }

  /** Makes running copies of a sandbox by id; see {@link Sandbox.fork}. */
  static fork(sandboxId: string, opts: ConnectionOptions & snapshots.ForkOptions = {}): Promise<ForkResult[]> {
    return Sandbox.forksOf(new ApiClient(resolveConfig(opts)), sandboxId, opts, {});
  }

  private static async forksOf(api: ApiClient, id: string, fork: snapshots.ForkOptions, options: RequestOptions): Promise<ForkResult[]> {
    const forks = await snapshots.forkSandbox(api, id, fork, options);
    return forks.map((one) => ("error" in one ? one : { sandbox: new Sandbox(api, one.access) }));
  }

  /** Keeps the state of a sandbox by id; see {@link Sandbox.createSnapshot}. */
  static createSnapshot(sandboxId: string, opts: ConnectionOptions & snapshots.SnapshotOptions = {}): Promise<SnapshotInfo> {
    return snapshots.createSnapshot(new ApiClient(resolveConfig(opts)), sandboxId, opts, {});
  }

  /** Takes a sandbox back to one of its snapshots; see {@link Sandbox.rollback}. */
  static rollback(sandboxId: string, snapshotId: string, opts: ConnectionOptions = {}): Promise<void> {
    return snapshots.rollbackSandbox(new ApiClient(resolveConfig(opts)), sandboxId, snapshotId, {});
  }

  /** All snapshots of this API key's team, newest first: `for await (const info of Sandbox.listSnapshots())`. */
  static listSnapshots(opts: SnapshotListOpts = {}): Paginator<SnapshotInfo> {
    const api = new ApiClient(resolveConfig(opts));
    return new Paginator((nextToken) => snapshots.listSnapshots(api, { ...opts, nextToken }, {}), opts.nextToken);
  }

  /** Deletes a snapshot. False when there is no such snapshot; an `InvalidArgumentError` while sandboxes that were made from it live. */
  static deleteSnapshot(snapshotId: string, opts: ConnectionOptions = {}): Promise<boolean> {
    return snapshots.deleteSnapshot(new ApiClient(resolveConfig(opts)), snapshotId, {});
  }

  /** Samples of what a sandbox uses, oldest first. */
  static getMetrics(
    sandboxId: string,
    opts: ConnectionOptions & { readonly start?: Date; readonly end?: Date } = {},
  ): Promise<SandboxMetrics[]> {
    return calls.getSandboxMetrics(new ApiClient(resolveConfig(opts)), sandboxId, opts, {});
  }

  /** Replaces a sandbox's rules of what may leave it, at once and for open connections too. */
  static updateNetwork(sandboxId: string, update: calls.NetworkUpdate, opts: ConnectionOptions = {}): Promise<void> {
    return calls.updateSandboxNetwork(new ApiClient(resolveConfig(opts)), sandboxId, update, {});
  }

  /** What happened to a sandbox, oldest first; of one that has ended also why, for two days. */
  static getLogs(sandboxId: string, opts: ConnectionOptions & calls.LogOptions = {}): Promise<SandboxLogEntry[]> {
    return calls.getSandboxLogs(new ApiClient(resolveConfig(opts)), sandboxId, opts, {});
  }

  getInfo(opts: RequestOptions = {}): Promise<SandboxInfo> {
    return calls.getSandboxInfo(this.api, this.sandboxId, opts);
  }

  /** Samples of what the sandbox uses, oldest first. */
  getMetrics(opts: RequestOptions & { readonly start?: Date; readonly end?: Date } = {}): Promise<SandboxMetrics[]> {
    return calls.getSandboxMetrics(this.api, this.sandboxId, opts, opts);
  }

  /** What happened to the sandbox, oldest first. */
  getLogs(opts: RequestOptions & calls.LogOptions = {}): Promise<SandboxLogEntry[]> {
    return calls.getSandboxLogs(this.api, this.sandboxId, opts, opts);
  }

  /** The last lines of the log of the sandbox's agent, oldest first. Throws `NotFoundError` when the agent is too old to have them. */
  getAgentLog(opts: RequestOptions = {}): Promise<string[]> {
    return agentLog(this.address, { config: this.api.config, metadata: this.metadata }, opts);
  }

  /** Ends the sandbox with all that is in it. False when it was gone already. */
  kill(opts: RequestOptions = {}): Promise<boolean> {
    return calls.killSandbox(this.api, this.sandboxId, opts);
  }

  /** Sets the lifetime, in milliseconds from now; longer or shorter than it was. */
  setTimeout(timeoutMs: number, opts: RequestOptions = {}): Promise<void> {
    return calls.setSandboxTimeout(this.api, this.sandboxId, timeoutMs, opts);
  }

  /**
   * Stops the sandbox and keeps its state, memory included, until {@link Sandbox.resume} or `Sandbox.connect`. False when it was paused already.
   * A `ConnectionError` where the machine cannot keep memory, as with a fork and a snapshot; `keepMemory: false` works there.
   */
  pause(opts: RequestOptions & snapshots.PauseOptions = {}): Promise<boolean> {
    return snapshots.pauseSandbox(this.api, this.sandboxId, opts, opts);
  }

  /** Resumes the sandbox after a pause, with at least this lifetime from now (default 300000 ms). A running sandbox keeps running. */
  async resume(opts: RequestOptions & { readonly timeoutMs?: number | undefined } = {}): Promise<void> {
    await calls.connectSandbox(this.api, this.sandboxId, opts.timeoutMs, opts);
  }

  /** Makes running copies of the sandbox as it is now, memory included; the sandbox itself keeps running. One result for each copy. */
  fork(opts: RequestOptions & snapshots.ForkOptions = {}): Promise<ForkResult[]> {
    return Sandbox.forksOf(this.api, this.sandboxId, opts, opts);
  }

  /**
   * Sets the sandbox back to one of its snapshots, or to the snapshot that it was made from: id, token, metadata and end stay, disk and processes
   * become those of the snapshot. When this fails the sandbox keeps running as it was. Open connections are closed.
   */
  rollback(snapshotId: string, opts: RequestOptions = {}): Promise<void> {
    return snapshots.rollbackSandbox(this.api, this.sandboxId, snapshotId, opts);
  }

  /** Takes a snapshot of the sandbox as it is now, memory included; the sandbox keeps running. `Sandbox.create(snapshotId)` makes sandboxes of it. */
  createSnapshot(opts: RequestOptions & snapshots.SnapshotOptions = {}): Promise<SnapshotInfo> {
    return snapshots.createSnapshot(this.api, this.sandboxId, opts, opts);
  }

  /** Replaces the rules of what may leave the sandbox, at once and for open connections too. The server refuses what it cannot enforce. */
  updateNetwork(update: calls.NetworkUpdate, opts: RequestOptions = {}): Promise<void> {
    return calls.updateSandboxNetwork(this.api, this.sandboxId, update, opts);
  }

  /** True when the sandbox's agent answers, false when the sandbox has ended or is paused. */
  async isRunning(opts: RequestOptions = {}): Promise<boolean> {
    const { config } = this.api;
    const what = `ask sandbox ${this.sandboxId} for its health`;
    const scope = new RequestScope(what, opts.requestTimeoutMs ?? config.requestTimeoutMs, [config.signal, opts.signal]);
    try {
      const health = await probeHealth(this.address, scope.signal, 0);
      if (health !== "unreachable") return health === "running";
      const message = `${what}: no clear answer from ${this.address.baseUrl}`;
      throw scope.failure(undefined) ?? new ConnectionError(message, { code: "unavailable", reason: "network_failed" });
    } finally {
      scope.dispose();
    }
  }

  /**
   * A request to a port of the sandbox, as `fetch` makes it: the answer comes whatever its status is (502 while nothing listens on the port). It
   * goes through the server's own address, so that it works where names below `localhost` or of a wildcard domain are not resolved.
   *
   * @param path - Path and query, from `/` on.
   * @throws ConnectionError when the server does not answer, AbortError when `signal` aborts.
   */
  fetch(port: number, path: string, opts: PortFetchOpts = {}): Promise<Response> {
    return fetchPort(this.portAccess(port), port, path, opts);
  }

  /** Base URL and headers by which any HTTP or WebSocket client reaches a port of the sandbox through the server's own address. */
  portAccess(port: number): PortAccess {
    return portAccess(this.address, port, this.trafficAccessToken);
  }

  /**
   * Base URL of a port of the sandbox below the server's own address, without a slash at the end: needs neither headers nor a name that resolves.
   * What is served there must cope with a path in front of its own (relative links); see docs/contract/routing.md, "A port by its path". A sandbox whose
   * ports are private wants its traffic token in a header anyway ({@link Sandbox.portAccess}).
   */
  portUrl(port: number): string {
    const { sandboxUrl, apiUrl } = this.api.config;
    return portUrl(sandboxUrl ?? apiUrl, this.sandboxId, port);
  }

  /** Host name under which a port of the sandbox is reached from outside; for `http://` in front where the API has it. */
  getHost(port: number): string {
    return `${port}-${this.sandboxId}.${this.domain ?? domainOf(this.api.config)}`;
  }

  /**
   * Base URL of a port of the sandbox, with the scheme of the API, for browsers and for machines that resolve the name. Node and Python resolve no
   * names below `localhost`: use {@link Sandbox.fetch} there, or a wildcard domain.
   */
  getUrl(port: number): string {
    return `${new URL(this.api.config.apiUrl).protocol}//${this.getHost(port)}`;
  }

  /** A URL from which anybody can download this file. */
  downloadUrl(path: string, opts: FileUrlOpts = {}): Promise<string> {
    return this.fileUrl("read", path, opts);
  }

  /**
   * A URL to which anybody can POST this file: its bytes with `Content-Type: application/octet-stream`, or a form (`multipart/form-data`) with
   * the part `file`. Without a path any file, as a form whose file name says where.
   */
  uploadUrl(path?: string, opts: FileUrlOpts = {}): Promise<string> {
    return this.fileUrl("write", path, opts);
  }

  async [asyncDispose](): Promise<void> {
    await this.kill();
  }

  private async fileUrl(operation: "read" | "write", path: string | undefined, opts: FileUrlOpts): Promise<string> {
    // With a domain the host name says which sandbox; without one the server finds it by the signature.
    const { sandboxUrl, apiUrl, domain } = this.api.config;
    const base = sandboxUrl ?? ((this.domain ?? domain) ? this.getUrl(AGENT_PORT) : apiUrl);
    return fileUrl(base, { operation, path, accessToken: this.address.accessToken }, opts);
  }
}
