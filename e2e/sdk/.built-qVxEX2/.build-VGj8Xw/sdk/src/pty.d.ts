import { type Transport } from "@connectrpc/connect";
import { type ModuleConfig, type ModuleMetadata } from "./agent-call.ts";
import { CommandHandle } from "./command-handle.ts";
import type { RequestOptions } from "./request-scope.ts";
export interface PtySize {
    readonly cols: number;
    /** Default: as it was. */
    readonly rows?: number;
}
export interface PtyCreateOpts extends RequestOptions {
    readonly cols: number;
    readonly rows: number;
    /** Gets what the terminal shows, as bytes; a returned promise is waited for, an error thrown here reaches the caller of `wait`. */
    readonly onData?: ((data: Uint8Array) => void | Promise<void>) | undefined;
    /** Default: the user of the template. */
    readonly user?: string | undefined;
    /** Over `TERM=xterm-256color`, `LANG=C.UTF-8` and `LC_ALL=C.UTF-8`. */
    readonly envs?: Readonly<Record<string, string>> | undefined;
    /** Default: the home directory of the user. */
    readonly cwd?: string | undefined;
    /** The session is ended after this many milliseconds; 0 means no limit. Default 60000. */
    readonly timeoutMs?: number | undefined;
    /** The program and its arguments. Default: an interactive login bash. */
    readonly argv?: readonly [string, ...string[]] | undefined;
    /** A name of your own, by which `commands.list` shows the session. */
    readonly tag?: string | undefined;
}
/** Options of {@link Pty.connect}. `timeoutMs` bounds the connection, not the session. */
export interface PtyConnectOpts extends RequestOptions {
    readonly onData?: PtyCreateOpts["onData"];
    /** Default 60000; 0 means no limit. */
    readonly timeoutMs?: number | undefined;
}
/** Runs terminal sessions in a sandbox. */
export declare class Pty {
    private readonly client;
    private readonly context;
    private readonly inputs;
    private readonly rows;
    /**
     * @param transport - Connect's `Transport`; {@link createSandboxTransport} makes one.
     * @param connectionConfig - Default request timeout and signal.
     * @param metadata - `version` of the sandbox's agent.
     */
    constructor(transport: Transport, connectionConfig: ModuleConfig, metadata: ModuleMetadata);
    /** Starts a session; returns as soon as it runs. */
    create(opts: PtyCreateOpts): Promise<CommandHandle>;
    /** Connects to a running session. `commands.list` shows which there are. */
    connect(pid: number, opts?: PtyConnectOpts): Promise<CommandHandle>;
    /** Kills with SIGKILL. True if the session was killed, false if it was not found. */
    kill(pid: number, opts?: RequestOptions): Promise<boolean>;
    /** Tells the session that its window has another size now. */
    resize(pid: number, size: PtySize, opts?: RequestOptions): Promise<void>;
    /** Sends what was typed. Calls for one session keep their order. */
    sendInput(pid: number, data: Uint8Array, opts?: RequestOptions): Promise<void>;
    private open;
    private control;
    private rememberRows;
}
