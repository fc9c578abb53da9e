import { AGENT_PORT } from "@boxyard/spec";
import { agentBaseUrl, createSandboxTransport, probeHealth } from "./agent-connection.js";
import { ApiClient } from "./api-client.js";
import { asyncDispose } from "./async-dispose.js";
import { Commands } from "./commands.js";
import { resolveConfig } from "./config.js";
import { ConnectionError, InvalidArgumentError } from "./errors.js";
import { Files } from "./files.js";
import { Git } from "./git.js";
import { probeOf } from "./lost-connection.js";
import { Paginator } from "./paginator.js";
import { Pty } from "./pty.js";
import * as calls from "./sandbox-api.js";
import { signFileUrl } from "./signature.js";
import * as snapshots from "./snapshot-api.js";
/**
 * A sandbox: an isolated Linux machine with files and commands. `Sandbox.create()` starts one, `Sandbox.connect(id)` comes back to one.
 * With `await using` it is killed at the end of the block.
 *
 * ```ts
 * await using sandbox = await Sandbox.create();
 * const { stdout } = await sandbox.commands.run("echo hello");
 * ```
 */
export class Sandbox {
    sandboxId;
    /** Runs commands. */
    commands;
    /** Runs terminal sessions. */
    pty;
    /** Reads and changes files. */
    files;
    /** Works with git repositories. */
    git;
    /** Value of the header `e2b-traffic-access-token` that requests to the sandbox's own ports need, when these are not public. */
    trafficAccessToken;
    api;
    address;
    domain;
    constructor(api, access) {
        this.api = api;
        this.sandboxId = access.sandboxId;
        this.trafficAccessToken = access.trafficAccessToken;
        this.domain = access.domain;
        this.address = { sandboxId: access.sandboxId, accessToken: access.accessToken, baseUrl: agentBaseUrl(api.config) };
        const transport = createSandboxTransport(this.address);
        const metadata = { version: access.envdVersion, probe: probeOf(() => probeHealth(this.address), api.runs) };
        this.commands = new Commands(transport, api.config, metadata);
        this.pty = new Pty(transport, api.config, metadata);
        this.git = new Git(this.commands);
        this.files = new Files(transport, api.config, metadata, this.address);
    }
    static async create(first = {}, second = {}) {
        const opts = typeof first === "string" ? { ...second, template: first } : first;
        const api = new ApiClient(resolveConfig(opts));
        return new Sandbox(api, await calls.createSandbox(api, opts, {}));
    }
    /** Comes back to a running sandbox, or resumes a paused one. */
    static async connect(sandboxId, opts = {}) {
        const api = new ApiClient(resolveConfig(opts));
        return new Sandbox(api, await calls.connectSandbox(api, sandboxId, opts.timeoutMs, {}));
    }
    /** All sandboxes of this API key's team: `for await (const info of Sandbox.list())`. */
    static list(opts = {}) {
        const api = new ApiClient(resolveConfig(opts));
        return new Paginator((nextToken) => calls.listSandboxes(api, { ...opts, nextToken }, {}), opts.nextToken);
    }
    /** Kills a sandbox by id. False when there is no such sandbox. */
    static kill(sandboxId, opts = {}) {
        return calls.killSandbox(new ApiClient(resolveConfig(opts)), sandboxId, {});
    }
    /** Looks at a sandbox by id, without resuming a paused one. */
    static getInfo(sandboxId, opts = {}) {
        return calls.getSandboxInfo(new ApiClient(resolveConfig(opts)), sandboxId, {});
    }
    /** Sets a sandbox's lifetime, in milliseconds from now; longer or shorter than it was. */
    static setTimeout(sandboxId, timeoutMs, opts = {}) {
        return calls.setSandboxTimeout(new ApiClient(resolveConfig(opts)), sandboxId, timeoutMs, {});
    }
    /** Pauses a sandbox by id; see {@link Sandbox.pause}. */
    static pause(sandboxId, opts = {}) {
        return snapshots.pauseSandbox(new ApiClient(resolveConfig(opts)), sandboxId, opts, {});
    }
    /** All snapshots of this API key's team: `for await (const info of Sandbox.listSnapshots())`. */
    static listSnapshots(opts = {}) {
        const api = new ApiClient(resolveConfig(opts));
        return new Paginator((nextToken) => snapshots.listSnapshots(api, { ...opts, nextToken }, {}), opts.nextToken);
    }
    /** Deletes a snapshot; sandboxes made from it go on. False when there is no such snapshot. */
    static deleteSnapshot(snapshotId, opts = {}) {
        return snapshots.deleteSnapshot(new ApiClient(resolveConfig(opts)), snapshotId, {});
    }
    /** Samples of what a sandbox uses, oldest first. */
    static getMetrics(sandboxId, opts = {}) {
        return calls.getSandboxMetrics(new ApiClient(resolveConfig(opts)), sandboxId, opts, {});
    }
    /** Replaces a sandbox's rules of what may leave it, at once and for open connections too. */
    static updateNetwork(sandboxId, update, opts = {}) {
        return calls.updateSandboxNetwork(new ApiClient(resolveConfig(opts)), sandboxId, update, {});
    }
    /** What happened to a sandbox, oldest first; of one that has ended also why, for two days. */
    static getLogs(sandboxId, opts = {}) {
        return calls.getSandboxLogs(new ApiClient(resolveConfig(opts)), sandboxId, opts, {});
    }
    getInfo(opts = {}) {
        return calls.getSandboxInfo(this.api, this.sandboxId, opts);
    }
    /** Samples of what the sandbox uses, oldest first. */
    getMetrics(opts = {}) {
        return calls.getSandboxMetrics(this.api, this.sandboxId, opts, opts);
    }
    /** What happened to the sandbox, oldest first. */
    getLogs(opts = {}) {
        return calls.getSandboxLogs(this.api, this.sandboxId, opts, opts);
    }
    /** Ends the sandbox with all that is in it. False when it was gone already. */
    kill(opts = {}) {
        return calls.killSandbox(this.api, this.sandboxId, opts);
    }
    /** Sets the lifetime, in milliseconds from now; longer or shorter than it was. */
    setTimeout(timeoutMs, opts = {}) {
        return calls.setSandboxTimeout(this.api, this.sandboxId, timeoutMs, opts);
    }
    /**
     * Stops the sandbox and keeps its state, memory included, until {@link Sandbox.resume} or `Sandbox.connect`. False when it was paused already.
     * An `UnsupportedError` where the server cannot do it, as with all that follows from it: resume, forks, snapshots.
     */
    pause(opts = {}) {
        return snapshots.pauseSandbox(this.api, this.sandboxId, opts, opts);
    }
    /** Goes on after a pause, with at least this lifetime from now (default 300000 ms). One that runs goes on running. */
    async resume(opts = {}) {
        await calls.connectSandbox(this.api, this.sandboxId, opts.timeoutMs, opts);
    }
    /** Makes running copies of the sandbox as it is now, memory included; it goes on itself. One result for each. */
    async fork(opts = {}) {
        const forks = await snapshots.forkSandbox(this.api, this.sandboxId, opts, opts);
        return forks.map((fork) => ("error" in fork ? fork : { sandbox: new Sandbox(this.api, fork.access) }));
    }
    /** Keeps the sandbox's state as it is now; it goes on. `Sandbox.create(snapshotId)` makes sandboxes of it. */
    createSnapshot(opts = {}) {
        return snapshots.createSnapshot(this.api, this.sandboxId, opts, opts);
    }
    /** Replaces the rules of what may leave the sandbox, at once and for open connections too. The server refuses what it cannot enforce. */
    updateNetwork(update, opts = {}) {
        return calls.updateSandboxNetwork(this.api, this.sandboxId, update, opts);
    }
    /** True when the sandbox's agent answers, false when the sandbox has ended or is paused. */
    async isRunning(opts = {}) {
        const health = await probeHealth(this.address, opts.signal);
        if (health !== "unreachable")
            return health === "running";
        const message = `ask sandbox ${this.sandboxId} for its health: no clear answer from ${this.address.baseUrl}`;
        throw new ConnectionError(message, { code: "unavailable", reason: "network_failed" });
    }
    /** Host name under which a port of the sandbox is reached from outside; for `http://` in front where the API has it. */
    getHost(port) {
        return `${port}-${this.sandboxId}.${this.domain ?? domainOf(this.api.config)}`;
    }
    /** Base URL of a port of the sandbox, with the scheme of the API. */
    getUrl(port) {
        return `${new URL(this.api.config.apiUrl).protocol}//${this.getHost(port)}`;
    }
    /** A URL from which anybody can download this file. */
    downloadUrl(path, opts = {}) {
        return this.fileUrl("read", path, opts);
    }
    /**
     * A URL to which anybody can POST this file: its bytes with `Content-Type: application/octet-stream`, or a form (`multipart/form-data`) with
     * the part `file`. Without a path any file, as a form whose file name says where.
     */
    uploadUrl(path, opts = {}) {
        return this.fileUrl("write", path, opts);
    }
    async [asyncDispose]() {
        await this.kill();
    }
    async fileUrl(operation, path, opts) {
        // With a domain the host name says which sandbox; without one the server finds it by the signature.
        const { sandboxUrl, apiUrl, domain } = this.api.config;
        const base = sandboxUrl ?? ((this.domain ?? domain) ? this.getUrl(AGENT_PORT) : apiUrl);
        const url = new URL("/files", base);
        if (opts.user !== undefined)
            url.searchParams.set("username", opts.user);
        if (path !== undefined)
            url.searchParams.set("path", path);
        const { accessToken } = this.address;
        if (accessToken === undefined) {
            if (opts.expiresInSeconds === undefined)
                return url.toString();
            const message = "expiresInSeconds has no effect: this sandbox has no access token, so its files are open";
            throw new InvalidArgumentError(message, { code: "invalid_argument", reason: "sandbox_not_secured" });
        }
        const expiration = opts.expiresInSeconds === undefined ? undefined : Math.floor(Date.now() / 1000) + opts.expiresInSeconds;
        const signature = await signFileUrl({ path: path ?? "", operation, user: opts.user ?? "", accessToken, expiration });
        url.searchParams.set("signature", signature);
        if (expiration !== undefined)
            url.searchParams.set("signature_expiration", String(expiration));
        return url.toString();
    }
}
/** Without a domain, host names work on this machine only: every name below `localhost` leads to it. */
function domainOf(config) {
    if (config.domain)
        return config.domain;
    const { hostname, port, host } = new URL(config.apiUrl);
    if (hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127."))
        return port ? `localhost:${port}` : "localhost";
    if (!/^[\d.]+$|^\[/.test(hostname))
        return host;
    const message = `no host name leads to a port of a sandbox at ${host}: give the option domain, or set BOXYARD_DOMAIN on the server`;
    throw new InvalidArgumentError(message, { code: "invalid_argument", reason: "domain_unknown" });
}
