import { asyncDispose } from "./async-dispose.ts";
import { type CommandResult } from "./command-result.ts";
import { type CommandOutput, type OpenProcess, type ProcessEnd } from "./process-events.ts";
import type { RequestOptions, RequestScope } from "./request-scope.ts";
export interface OutputCallbacks {
    readonly onStdout?: ((data: string) => void | Promise<void>) | undefined;
    readonly onStderr?: ((data: string) => void | Promise<void>) | undefined;
    readonly onPty?: ((data: Uint8Array) => void | Promise<void>) | undefined;
}
/** How a handle acts on its process; given by the module that made it. */
export interface ProcessControl {
    kill(options?: RequestOptions): Promise<boolean>;
    sendInput(data: string | Uint8Array, options?: RequestOptions): Promise<void>;
    closeStdin(options?: RequestOptions): Promise<void>;
}
export interface HandleParts {
    readonly opened: OpenProcess;
    readonly scope: RequestScope;
    readonly control: ProcessControl;
    readonly callbacks: OutputCallbacks;
    /** Whether `stdout` and `stderr` keep what came. */
    readonly retainOutput: boolean;
    /** True when this handle started the process: then `await using` ends it. */
    readonly owner: boolean;
    /** Turns a failure of the stream into what the caller gets. */
    readonly translate: (error: unknown) => Promise<Error>;
}
/**
 * A running command or PTY session.
 *
 * Output is read from the moment the handle exists: callbacks are called in order, one at a time, and one that returns a promise is waited
 * for before more is read. The first callback that fails ends the reading, and `wait` throws its error. A handle is also an async iterable
 * of raw output, and with `await using` a command that this handle started is killed at the end of the block (one that it merely connected
 * to is left running).
 */
export declare class CommandHandle implements AsyncIterable<CommandOutput> {
    /** Process id inside the sandbox. */
    readonly pid: number;
    private readonly parts;
    private readonly record;
    private readonly decoders;
    private readonly queues;
    private readonly finished;
    private begin;
    private end;
    private failure;
    private disconnected;
    /** What came on standard output so far. */
    get stdout(): string;
    /** What came on standard error so far. */
    get stderr(): string;
    /** Undefined while the command runs; -1 when a signal ended it. */
    get exitCode(): number | undefined;
    /** What the agent says about an end that was not a clean one. */
    get error(): string | undefined;
    /**
     * The result, when the command has ended.
     *
     * @throws CommandExitError when the exit code is not 0; it carries the result.
     * @throws TimeoutError when `timeoutMs` has passed.
     * @throws SandboxEndedError, ConnectionError when the connection was lost.
     */
    wait(): Promise<CommandResult>;
    /** How the command ended, without the output; throws only when the connection was lost, and does not mind the exit code. */
    waitForEnd(): Promise<ProcessEnd>;
    /** Sends SIGKILL. True if it was killed, false if it was gone already. */
    kill(options?: RequestOptions): Promise<boolean>;
    /** Stops reading and leaves the command running; connect to its `pid` to come back. A pending `wait` fails with an `AbortError`. */
    disconnect(): Promise<void>;
    /** Sends data to the command's standard input (to the terminal, of a PTY). */
    sendStdin(data: string | Uint8Array, options?: RequestOptions): Promise<void>;
    /** Signals the end of input; the command must have been started with `stdin: true`. */
    closeStdin(options?: RequestOptions): Promise<void>;
    /**
     * All raw output: what came so far (with `retainOutput: false`: nothing of it), then what comes. The loop ends when the command has,
     * whatever its exit code, and throws when the connection was lost. A loop that is slow holds the command back.
     */
    [Symbol.asyncIterator](): AsyncIterableIterator<CommandOutput>;
    [asyncDispose](): Promise<void>;
    /** Reads until the `end` message and resolves with it; what follows is drained aside. */
    private read;
    private explain;
    private stopReading;
    private drain;
    /** Gives one piece to callbacks and readers; a promise when somebody wants more to wait. */
    private handOut;
    /** A character that was cut between two pieces is handed out whole, with the second. */
    private callWithText;
    private flush;
}
