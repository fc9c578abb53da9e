import { Process } from "@boxyard/spec/pb/process";
import { createClient } from "@connectrpc/connect";
import { scopeFor, streamCallOptions, unary } from "./agent-call.js";
import { agentError } from "./agent-errors.js";
import { CommandHandle } from "./command-handle.js";
import { DEFAULT_COMMAND_TIMEOUT_MS, defaultUser, killProcess } from "./commands.js";
import { InvalidArgumentError } from "./errors.js";
import { InputQueue } from "./input-queue.js";
import { openProcess } from "./process-events.js";
const DEFAULT_ENVS = { TERM: "xterm-256color", LANG: "C.UTF-8", LC_ALL: "C.UTF-8" };
const NO_PROCESS = "process_not_found";
const DEFAULT_ROWS = 24;
/** Sessions whose row count is remembered, for a resize that gives columns only. */
const REMEMBERED_SIZES = 256;
/** Runs terminal sessions in a sandbox. */
export class Pty {
    client;
    context;
    inputs = new InputQueue();
    rows = new Map();
    /**
     * @param transport - Connect's `Transport`; {@link createSandboxTransport} makes one.
     * @param connectionConfig - Default request timeout and signal.
     * @param metadata - `version` of the sandbox's agent.
     */
    constructor(transport, connectionConfig, metadata) {
        this.client = createClient(Process, transport);
        this.context = { config: connectionConfig, metadata };
    }
    /** Starts a session; returns as soon as it runs. */
    async create(opts) {
        const { version } = this.context.metadata;
        const [cmd, ...args] = opts.argv ?? ["/bin/bash", "-i", "-l"];
        const request = {
            process: { cmd, args, envs: { ...DEFAULT_ENVS, ...opts.envs }, ...(opts.cwd === undefined ? {} : { cwd: opts.cwd }) },
            pty: { size: checkSize({ cols: opts.cols, rows: opts.rows }) },
            ...(opts.tag === undefined ? {} : { tag: opts.tag }),
        };
        const handle = await this.open("create terminal", opts, true, (scope, timeoutMs) => openProcess(this.client.start(request, streamCallOptions(scope, timeoutMs, defaultUser(opts.user, version)))));
        this.rememberRows(handle.pid, opts.rows);
        return handle;
    }
    /** Connects to a running session. `commands.list` shows which there are. */
    connect(pid, opts = {}) {
        const request = { process: { selector: { case: "pid", value: pid } } };
        return this.open(`connect to terminal ${pid}`, opts, false, (scope, timeoutMs) => openProcess(this.client.connect(request, streamCallOptions(scope, timeoutMs, undefined))));
    }
    /** Kills with SIGKILL. True if the session was killed, false if it was not found. */
    async kill(pid, opts = {}) {
        this.rows.delete(pid);
        return killProcess(this.client, this.context, pid, opts);
    }
    /** Tells the session that its window has another size now. */
    async resize(pid, size, opts = {}) {
        const full = checkSize({ cols: size.cols, rows: size.rows ?? this.rows.get(pid) ?? DEFAULT_ROWS });
        const request = { process: { selector: { case: "pid", value: pid } }, pty: { size: full } };
        await unary(this.context, `resize terminal ${pid}`, { ...opts, notFoundReason: NO_PROCESS }, (o) => this.client.update(request, o));
        this.rememberRows(pid, full.rows);
    }
    /** Sends what was typed. Calls for one session keep their order. */
    async sendInput(pid, data, opts = {}) {
        const request = {
            process: { selector: { case: "pid", value: pid } },
            input: { input: { case: "pty", value: data } },
        };
        const options = { ...opts, notFoundReason: NO_PROCESS };
        await this.inputs.run(pid, () => unary(this.context, `send input to terminal ${pid}`, options, (o) => this.client.sendInput(request, o)));
    }
    async open(what, opts, owner, start) {
        const scope = scopeFor(this.context, what, opts);
        const streamTimeoutMs = opts.timeoutMs ?? DEFAULT_COMMAND_TIMEOUT_MS;
        const translate = (error) => agentError(error, { what, scope, streamTimeoutMs, notFoundReason: NO_PROCESS, probe: this.context.metadata.probe });
        try {
            scope.throwIfEnded();
            const opened = await start(scope, streamTimeoutMs);
            scope.begin();
            const control = this.control(opened.pid);
            const callbacks = { onPty: opts.onData };
            return new CommandHandle({ opened, scope, control, callbacks, retainOutput: false, owner, translate }, "soon");
        }
        catch (error) {
            scope.abort();
            scope.dispose();
            throw await translate(error);
        }
    }
    control(pid) {
        const encoder = new TextEncoder();
        return {
            kill: (options) => this.kill(pid, options),
            sendInput: (data, options) => this.sendInput(pid, typeof data === "string" ? encoder.encode(data) : data, options),
            // A terminal has no end of input of its own: Ctrl-D at the start of a line is how its program is told.
            closeStdin: (options) => this.sendInput(pid, Uint8Array.of(4), options),
        };
    }
    rememberRows(pid, rows) {
        this.rows.delete(pid);
        this.rows.set(pid, rows);
        const oldest = this.rows.size > REMEMBERED_SIZES ? this.rows.keys().next().value : undefined;
        if (oldest !== undefined)
            this.rows.delete(oldest);
    }
}
/** Sizes are numbers of 16 bits in the kernel. */
function checkSize(size) {
    for (const [name, value] of Object.entries(size)) {
        if (!Number.isInteger(value) || value < 1 || value > 65_535) {
            throw new InvalidArgumentError(`${name} must be a whole number from 1 to 65535, not ${value}`, { code: "invalid_argument" });
        }
    }
    return size;
}
