import { asyncDispose } from "../async-dispose.ts";
import type { RequestOptions, RequestScope } from "../connection/request-scope.ts";
import { AbortError, ConnectionError } from "../errors.ts";
import { CommandExitError, type CommandResult } from "./command-result.ts";
import { OutputQueue } from "./output-queue.ts";
import { OutputRecord } from "./output-record.ts";
import { type CommandOutput, type OpenProcess, type ProcessEnd, releaseCall } from "./process-events.ts";

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
 * The handle reads output as soon as it exists. It calls the callbacks in order, one at a time, and awaits the promise of a callback before it reads
 * more. If a callback fails, the reading ends, and `wait` throws the error. A handle is also an async iterable of raw output. With `await using`, a
 * command that the handle started is killed at the end of the block; a command that the handle connected to keeps running.
 */
export class CommandHandle implements AsyncIterable<CommandOutput> {
  /** Process id inside the sandbox. */
  readonly pid: number;
  private readonly parts: HandleParts;
  private readonly record = new OutputRecord();
  private readonly decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  private readonly queues = new Set<OutputQueue>();
  private readonly finished: Promise<ProcessEnd>;
  private begin: () => void;
  private end: ProcessEnd | undefined;
  private failure: { readonly cause: unknown } | undefined;
  private disconnected = false;
  private received = 0;

  /** @internal Handles come from {@link Commands} and {@link Pty}. */
  constructor(parts: HandleParts, whenToRead: "now" | "soon") {
    this.parts = parts;
    this.pid = parts.opened.pid;
    // "soon" lets the caller, who has just been given this handle, begin to iterate before the first output is handed out. A caller that
    // waits or iterates needs that time no longer.
    let begin = () => {};
    this.finished = new Promise((resolve) => {
      begin = () => resolve(this.read());
    });
    const timer = whenToRead === "now" ? undefined : setTimeout(() => this.begin(), 0);
    this.begin = () => {
      this.begin = () => {};
      clearTimeout(timer);
      begin();
    };
    if (whenToRead === "now") this.begin();
    // Without a waiting caller the failure is kept for a later `wait`, and is not an unhandled rejection.
    this.finished.catch(() => {});
  }

  /** Standard output so far. */
  get stdout(): string {
    return this.record.text("stdout");
  }

  /** Standard error so far. */
  get stderr(): string {
    return this.record.text("stderr");
  }

  /**
   * Position of this handle in the command's output, in bytes from its beginning. `connect` with this value as `fromOffset` continues there: no output
   * is repeated, and only output that the sandbox no longer has is missing.
   */
  get outputOffset(): number {
    return this.parts.opened.offset + this.received;
  }

  /** Undefined while the command runs; -1 if a signal ended it. */
  get exitCode(): number | undefined {
    return this.end?.exitCode;
  }

  /** How the command ended, if not with exit code 0: for example `exit status 1` or `signal: killed`. */
  get error(): string | undefined {
    return this.end?.error;
  }

  /**
   * Waits for the end of the command and returns its result.
   *
   * @throws CommandExitError when the exit code is not 0; it carries the result.
   * @throws TimeoutError when `timeoutMs` has passed.
   * @throws SandboxEndedError, ConnectionError when the connection was lost.
   */
  async wait(): Promise<CommandResult> {
    const end = await this.waitForEnd();
    const result = { exitCode: end.exitCode, stdout: this.stdout, stderr: this.stderr, ...(end.error ? { error: end.error } : {}) };
    if (end.exitCode !== 0) throw new CommandExitError(result);
    return result;
  }

  /** Waits for the end of the command with any exit code. Returns how it ended, without the output. Throws if the connection is lost. */
  waitForEnd(): Promise<ProcessEnd> {
    this.begin();
    return this.finished;
  }

  /** Sends SIGKILL. True if the command was killed, false if it had ended already. */
  kill(options?: RequestOptions): Promise<boolean> {
    return this.parts.control.kill(options);
  }

  /** Stops reading; the command keeps running, and `connect` with its `pid` reads again. A pending `wait` fails with an `AbortError`. */
  async disconnect(): Promise<void> {
    if (this.end) return;
    this.disconnected = true;
    this.stopReading();
  }

  /** Sends data to the command's standard input; for a PTY session, to the terminal. */
  sendStdin(data: string | Uint8Array, options?: RequestOptions): Promise<void> {
    return this.parts.control.sendInput(data, options);
  }

  /** Signals the end of input; the command must have been started with `stdin: true`. */
  closeStdin(options?: RequestOptions): Promise<void> {
    return this.parts.control.closeStdin(options);
  }

  /**
   * Iterates over all raw output: first the output received so far (none of it with `retainOutput: false`), then new output. The loop ends
   * when the command ends, with any exit code, and throws if the connection is lost. A slow loop slows the command down.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<CommandOutput> {
    const queue = new OutputQueue((it) => this.queues.delete(it));
    for (const output of this.record.pieces) queue.push(output);
    if (this.end || this.failure) queue.end(this.failure);
    else this.queues.add(queue);
    this.begin();
    return queue;
  }

  async [asyncDispose](): Promise<void> {
    if (this.end) return;
    if (this.parts.owner && !this.failure) await this.kill();
    await this.disconnect();
  }

  /** Reads until the `end` message and resolves with it; the rest of the stream is drained in the background. */
  private async read(): Promise<ProcessEnd> {
    const iterator = this.parts.opened.messages[Symbol.asyncIterator]();
    try {
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
        // Some runtimes deliver data that they had read before the disconnect. After it the caller's offset must not change.
        if (this.disconnected) throw new Error("disconnected");
        if ("output" in next.value) {
          const pending = this.handOut(next.value.output);
          if (pending) await pending;
          continue;
        }
        await this.flush();
        this.record.end();
        this.end = next.value.end;
        for (const queue of this.queues) queue.end();
        void this.drain(iterator);
        return this.end;
      }
      const message = `command ${this.pid}: the stream ended before the command did`;
      throw new ConnectionError(message, { code: "unavailable", reason: "stream_dropped" });
    } catch (error) {
      const cause = await this.explain(error);
      this.failure = { cause };
      this.stopReading();
      releaseCall(iterator);
      this.parts.scope.dispose();
      for (const queue of this.queues) queue.end(this.failure);
      throw cause;
    }
  }

  private async explain(error: unknown): Promise<unknown> {
    if (error instanceof CallbackFailure) return error.cause;
    if (this.disconnected) {
      const message = `command ${this.pid}: disconnected; it may still be running`;
      return new AbortError(message, { code: "canceled", reason: "disconnected", cause: error });
    }
    return this.parts.translate(error);
  }

  private stopReading(): void {
    this.parts.scope.abort();
    for (const queue of this.queues) queue.end(this.failure);
  }

  private async drain(iterator: AsyncIterator<unknown>): Promise<void> {
    try {
      while (!(await iterator.next()).done);
    } catch {
      // The command has ended; how the stream ends after that does not matter.
    } finally {
      this.parts.scope.dispose();
    }
  }

  /** Gives one piece to callbacks and readers; a promise when one of them is not ready for more. */
  private handOut(output: CommandOutput): Promise<unknown> | undefined {
    const pending: Promise<unknown>[] = [];
    const { stream, data } = output;
    this.received += data.length;
    if (this.parts.retainOutput) this.record.add(output);
    if (stream === "pty") call(this.parts.callbacks.onPty, data, pending);
    else this.callWithText(stream, data, pending);
    for (const queue of this.queues) {
      const room = queue.push(output);
      if (room) pending.push(room);
    }
    return pending.length > 0 ? Promise.all(pending) : undefined;
  }

  /** A character that was cut between two pieces is delivered whole, with the second. */
  private callWithText(stream: "stdout" | "stderr", data: Uint8Array | undefined, pending: Promise<unknown>[]): void {
    const callback = stream === "stdout" ? this.parts.callbacks.onStdout : this.parts.callbacks.onStderr;
    if (!callback) return;
    const decoder = this.decoders[stream];
    call(callback, data ? decoder.decode(data, { stream: true }) : decoder.decode(), pending);
  }

  private async flush(): Promise<void> {
    const pending: Promise<unknown>[] = [];
    this.callWithText("stdout", undefined, pending);
    this.callWithText("stderr", undefined, pending);
    await Promise.all(pending);
  }
}

/** Marks an error as the caller's own, so that the caller gets it as it is. */
class CallbackFailure extends Error {
  constructor(cause: unknown) {
    super("callback failed", { cause });
  }
}

function call<T extends string | Uint8Array>(callback: ((data: T) => unknown) | undefined, data: T, pending: Promise<unknown>[]): void {
  if (!callback || data.length === 0) return;
  try {
    const result = callback(data);
    if (result instanceof Promise) {
      pending.push(
        result.catch((cause) => {
          throw new CallbackFailure(cause);
        }),
      );
    }
  } catch (cause) {
    throw new CallbackFailure(cause);
  }
}
