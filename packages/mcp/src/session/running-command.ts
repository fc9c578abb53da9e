import type { CommandHandle, Sandbox } from "@boxyard/sdk";
import { OutputWindow } from "./output-window.ts";

/** Output that is kept of one command. */
const COMMAND_OUTPUT_BYTES = 256 << 10;

type End = Awaited<ReturnType<CommandHandle["waitForEnd"]>>;

/** A command that a session has started, or has connected to, with the last part of its output. */
export class RunningCommand {
  readonly pid: number;
  readonly sandboxId: string;
  readonly output = new OutputWindow(COMMAND_OUTPUT_BYTES);
  readonly startedAt = performance.now();
  /** Position of the output that the client has not been given yet. */
  shown = 0;
  end: End | undefined;
  /** Why the output does not arrive any more, while the command may still run. */
  private lost: { readonly cause: unknown } | undefined;
  private readonly changed = new EventTarget();

  constructor(sandboxId: string, handle: CommandHandle) {
    this.sandboxId = sandboxId;
    this.pid = handle.pid;
    this.output.skipTo(handle.outputOffset);
    this.shown = this.output.end;
    void this.follow(handle);
  }

  get isFollowed(): boolean {
    return this.end === undefined && this.lost === undefined;
  }

  /** Connects to the command again when the connection was cut, as by a restart of the server or a pause. */
  async reconnect(sandbox: Sandbox): Promise<void> {
    if (!this.lost) return;
    const handle = await sandbox.commands.connect(this.pid, { timeoutMs: 0, retainOutput: false, fromOffset: this.output.end });
    this.lost = undefined;
    this.output.skipTo(handle.outputOffset);
    void this.follow(handle);
  }

  /** Waits until the command has ended, at most so long; `onOutput` is called when there is more output. Throws if the connection is lost. */
  async wait(limitMs: number, signal: AbortSignal, onOutput: () => void): Promise<void> {
    if (limitMs <= 0 || this.end) return;
    const done = Promise.withResolvers<void>();
    const look = () => {
      if (this.lost) done.reject(this.lost.cause);
      else if (this.end) done.resolve();
    };
    const timer = setTimeout(done.resolve, limitMs);
    const abort = () => done.reject(signal.reason);
    this.changed.addEventListener("output", onOutput);
    this.changed.addEventListener("end", look);
    signal.addEventListener("abort", abort);
    try {
      look();
      if (signal.aborted) abort();
      await done.promise;
    } finally {
      clearTimeout(timer);
      this.changed.removeEventListener("output", onOutput);
      this.changed.removeEventListener("end", look);
      signal.removeEventListener("abort", abort);
    }
  }

  private async follow(handle: CommandHandle): Promise<void> {
    try {
      for await (const { data } of handle) {
        this.output.append(data);
        this.changed.dispatchEvent(new Event("output"));
      }
      this.end = await handle.waitForEnd();
    } catch (cause) {
      this.lost = { cause };
    }
    this.changed.dispatchEvent(new Event("end"));
  }
}
