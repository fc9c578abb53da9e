import { Process, Signal } from "@boxyard/spec/pb/process";
import { createClient } from "@connectrpc/connect";
import { scopeFor, streamCallOptions, unary } from "./agent-call.js";
import { agentError } from "./agent-errors.js";
import { CommandHandle } from "./command-handle.js";
import { CommandExitError } from "./command-result.js";
import { UnsupportedError } from "./errors.js";
import { InputQueue } from "./input-queue.js";
import { openProcess } from "./process-events.js";
import { atLeast } from "./version.js";
export const DEFAULT_COMMAND_TIMEOUT_MS = 60_000;
/** Limit for the kill that follows a foreground command whose caller has gone. */
const ABANDON_TIMEOUT_MS = 5000;
const NO_PROCESS = "process_not_found";
/** Runs commands in a sandbox. */
export class Commands {
    client;
    context;
    inputs = new InputQueue();
    /**
     * @param transport - Connect's `Transport`; {@link createSandboxTransport} makes one.
     * @param connectionConfig - Default request timeout and signal.
     * @param metadata - `version` of the sandbox's agent.
     */
    constructor(transport, connectionConfig, metadata) {
        this.client = createClient(Process, transport);
        this.context = { config: connectionConfig, metadata };
    }
    /** Lists all running commands and PTY sessions. */
    async list(opts = {}) {
        const { processes } = await unary(this.context, "list commands", opts, (o) => this.client.list({}, o));
        return processes.map(({ pid, tag, config }) => ({
            pid,
            cmd: config?.cmd ?? "",
            args: config?.args ?? [],
            envs: config?.envs ?? {},
            ...(config?.cwd === undefined ? {} : { cwd: config.cwd }),
            ...(tag === undefined ? {} : { tag }),
        }));
    }
    async run(cmd, opts = {}) {
        const argv = ["/bin/bash", "-l", "-c", cmd];
        if (opts.background)
            return this.start(argv, opts, "soon");
        const handle = await this.start(argv, opts, "now");
        try {
            return await handle.wait();
        }
        catch (error) {
            if (!(error instanceof CommandExitError))
                this.abandon(handle);
            throw error;
        }
    }
    /** Starts a program without a shell, so that every argument arrives exactly as given. Returns as soon as it has started. */
    spawn(argv, opts = {}) {
        return this.start(argv, opts, "soon");
    }
    /** Connects to a running command; `wait` of the handle gives its result. Output that nobody has received yet comes first. */
    async connect(pid, opts = {}) {
        const what = `connect to command ${pid}`;
        const scope = scopeFor(this.context, what, opts);
        const timeoutMs = opts.timeoutMs ?? DEFAULT_COMMAND_TIMEOUT_MS;
        const translate = (error) => this.translate(error, what, scope, timeoutMs);
        try {
            scope.throwIfEnded();
            const request = { process: { selector: { case: "pid", value: pid } } };
            const opened = await openProcess(this.client.connect(request, streamCallOptions(scope, timeoutMs, undefined)));
            scope.begin();
            const control = this.control(opened.pid);
            const retainOutput = opts.retainOutput ?? true;
            return new CommandHandle({ opened, scope, control, callbacks: opts, retainOutput, owner: false, translate }, "soon");
        }
        catch (error) {
            scope.abort();
            scope.dispose();
            throw await translate(error);
        }
    }
    /** Kills with SIGKILL. True if the command was killed, false if it was not found. */
    async kill(pid, opts = {}) {
        return killProcess(this.client, this.context, pid, opts);
    }
    /** Sends data to the command's standard input. Calls for one command keep their order. */
    async sendStdin(pid, data, opts = {}) {
        const value = typeof data === "string" ? new TextEncoder().encode(data) : data;
        const request = { process: { selector: { case: "pid", value: pid } }, input: { input: { case: "stdin", value } } };
        const options = { ...opts, notFoundReason: NO_PROCESS };
        await this.inputs.run(pid, () => unary(this.context, `send input to command ${pid}`, options, (o) => this.client.sendInput(request, o)));
    }
    /** Signals the end of input; the command must have been started with `stdin: true`. */
    async closeStdin(pid, opts = {}) {
        if (!atLeast(this.context.metadata.version, "0.5.2"))
            throw tooOld("closeStdin", "0.5.2", this.context.metadata.version);
        const request = { process: { selector: { case: "pid", value: pid } } };
        const options = { ...opts, notFoundReason: NO_PROCESS };
        await this.inputs.run(pid, () => unary(this.context, `close stdin of command ${pid}`, options, (o) => this.client.closeStdin(request, o)));
    }
    async start(argv, opts, whenToRead) {
        const [cmd, ...args] = argv;
        const { version } = this.context.metadata;
        if (opts.stdin === false && !atLeast(version, "0.3.0"))
            throw tooOld("stdin: false", "0.3.0", version);
        const what = "run command";
        const scope = scopeFor(this.context, what, opts);
        const timeoutMs = opts.timeoutMs ?? DEFAULT_COMMAND_TIMEOUT_MS;
        const translate = (error) => this.translate(error, what, scope, timeoutMs);
        try {
            scope.throwIfEnded();
            const request = {
                process: { cmd, args, envs: { ...opts.envs }, ...(opts.cwd === undefined ? {} : { cwd: opts.cwd }) },
                // Agents before 0.3.0 know no choice; their stdin is always open.
                ...(atLeast(version, "0.3.0") ? { stdin: opts.stdin ?? false } : {}),
                ...(opts.tag === undefined ? {} : { tag: opts.tag }),
            };
            const opened = await openProcess(this.client.start(request, streamCallOptions(scope, timeoutMs, defaultUser(opts.user, version))));
            scope.begin();
            const control = this.control(opened.pid);
            const retainOutput = opts.retainOutput ?? true;
            return new CommandHandle({ opened, scope, control, callbacks: opts, retainOutput, owner: true, translate }, whenToRead);
        }
        catch (error) {
            scope.abort();
            scope.dispose();
            throw await translate(error);
        }
    }
    control(pid) {
        return {
            kill: (options) => this.kill(pid, options),
            sendInput: (data, options) => this.sendStdin(pid, data, options),
            closeStdin: (options) => this.closeStdin(pid, options),
        };
    }
    /** Nobody holds this foreground command any more: end it, as far as that can be done. */
    abandon(handle) {
        const context = { config: { requestTimeoutMs: ABANDON_TIMEOUT_MS }, metadata: this.context.metadata };
        void killProcess(this.client, context, handle.pid, {}).catch(() => { });
        void handle.disconnect();
    }
    translate(error, what, scope, streamTimeoutMs) {
        return agentError(error, { what, scope, streamTimeoutMs, notFoundReason: NO_PROCESS, probe: this.context.metadata.probe });
    }
}
/** Sends SIGKILL; false when there is no such process. */
export async function killProcess(client, context, pid, opts) {
    const request = { process: { selector: { case: "pid", value: pid } }, signal: Signal.SIGKILL };
    try {
        await unary(context, `kill ${pid}`, { ...opts, notFoundReason: NO_PROCESS }, (o) => client.sendSignal(request, o));
        return true;
    }
    catch (error) {
        if (error.reason === NO_PROCESS)
            return false;
        throw error;
    }
}
/** Agents before 0.4.0 have no default user. */
export function defaultUser(user, version) {
    return user ?? (atLeast(version, "0.4.0") ? undefined : "user");
}
export function tooOld(operation, needed, version) {
    const message = `${operation} needs an agent of version ${needed}; this sandbox has ${version}. Build its template again`;
    return new UnsupportedError(message, { code: "unimplemented", reason: "agent_too_old" });
}
