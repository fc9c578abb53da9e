import { Process } from "@boxyard/spec/pb/process";
import { type Client, type Transport } from "@connectrpc/connect";
import { type CallContext, type ModuleConfig, type ModuleMetadata } from "./agent-call.ts";
import { CommandHandle } from "./command-handle.ts";
import { type CommandResult } from "./command-result.ts";
import { UnsupportedError } from "./errors.ts";
import type { RequestOptions } from "./request-scope.ts";
/** Options of every call of {@link Commands}: `requestTimeoutMs` (default 60000) and `signal`. */
export type CommandRequestOpts = RequestOptions;
export interface CommandStartOpts extends CommandRequestOpts {
    /** True: return a handle at once. Otherwise: wait and return the result. */
    readonly background?: boolean | undefined;
    /** Working directory. Default: the home directory of the user. */
    readonly cwd?: string | undefined;
    /** Environment variables; they override the sandbox's. Default: none. */
    readonly envs?: Readonly<Record<string, string>> | undefined;
    /** Gets standard error as it comes; a returned promise is waited for, an error thrown here reaches the caller. */
    readonly onStderr?: ((data: string) => void | Promise<void>) | undefined;
    /** Gets standard output as it comes; a returned promise is waited for, an error thrown here reaches the caller. */
    readonly onStdout?: ((data: string) => void | Promise<void>) | undefined;
    /** True: standard input stays open, and `sendStdin` and `closeStdin` work. Default false. */
    readonly stdin?: boolean | undefined;
    /** The command is killed after this many milliseconds; 0 means no limit. Default 60000. */
    readonly timeoutMs?: number | undefined;
    /** Default: the user of the template. */
    readonly user?: string | undefined;
    /** False: `stdout` and `stderr` of handle and result stay empty; for output that is only streamed. Default true. */
    readonly retainOutput?: boolean | undefined;
    /** A name of your own, by which `list` shows the command. */
    readonly tag?: string | undefined;
}
/** Options of {@link Commands.connect}. `timeoutMs` bounds the connection, not the command. */
export interface CommandConnectOpts extends CommandRequestOpts {
    readonly onStderr?: CommandStartOpts["onStderr"];
    readonly onStdout?: CommandStartOpts["onStdout"];
    /** Default 60000; 0 means no limit. */
    readonly timeoutMs?: number | undefined;
    /** As in {@link CommandStartOpts}. */
    readonly retainOutput?: boolean | undefined;
}
/** A running command or PTY session. */
export interface ProcessInfo {
    readonly pid: number;
    readonly cmd: string;
    readonly args: readonly string[];
    readonly envs: Readonly<Record<string, string>>;
    readonly cwd?: string;
    /** Identifies special commands, such as the start command of a template. */
    readonly tag?: string;
}
export declare const DEFAULT_COMMAND_TIMEOUT_MS = 60000;
/** Runs commands in a sandbox. */
export declare class Commands {
    private readonly client;
    private readonly context;
    private readonly inputs;
    /**
     * @param transport - Connect's `Transport`; {@link createSandboxTransport} makes one.
     * @param connectionConfig - Default request timeout and signal.
     * @param metadata - `version` of the sandbox's agent.
     */
    constructor(transport: Transport, connectionConfig: ModuleConfig, metadata: ModuleMetadata);
    /** Lists all running commands and PTY sessions. */
    list(opts?: CommandRequestOpts): Promise<ProcessInfo[]>;
    /** Runs a shell command (`bash -l -c`) in the background: returns as soon as it has started. */
    run(cmd: string, opts: CommandStartOpts & {
        readonly background: true;
    }): Promise<CommandHandle>;
    /**
     * Runs a shell command (`bash -l -c`) and waits for its result.
     *
     * @throws CommandExitError when the exit code is not 0; it carries the result.
     */
    run(cmd: string, opts?: CommandStartOpts & {
        readonly background?: false | undefined;
    }): Promise<CommandResult>;
    run(cmd: string, opts?: CommandStartOpts): Promise<CommandHandle | CommandResult>;
    /** Starts a program without a shell, so that every argument arrives exactly as given. Returns as soon as it has started. */
    spawn(argv: readonly [string, ...string[]], opts?: Omit<CommandStartOpts, "background">): Promise<CommandHandle>;
    /** Connects to a running command; `wait` of the handle gives its result. Output that nobody has received yet comes first. */
    connect(pid: number, opts?: CommandConnectOpts): Promise<CommandHandle>;
    /** Kills with SIGKILL. True if the command was killed, false if it was not found. */
    kill(pid: number, opts?: CommandRequestOpts): Promise<boolean>;
    /** Sends data to the command's standard input. Calls for one command keep their order. */
    sendStdin(pid: number, data: string | Uint8Array, opts?: CommandRequestOpts): Promise<void>;
    /** Signals the end of input; the command must have been started with `stdin: true`. */
    closeStdin(pid: number, opts?: CommandRequestOpts): Promise<void>;
    private start;
    private control;
    /** Nobody holds this foreground command any more: end it, as far as that can be done. */
    private abandon;
    private translate;
}
/** Sends SIGKILL; false when there is no such process. */
export declare function killProcess(client: Client<typeof Process>, context: CallContext, pid: number, opts: RequestOptions): Promise<boolean>;
/** Agents before 0.4.0 have no default user. */
export declare function defaultUser(user: string | undefined, version: string): string | undefined;
export declare function tooOld(operation: string, needed: string, version: string): UnsupportedError;
