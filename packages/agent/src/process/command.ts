import type { Clock } from "@boxyard/core";
import { AppError } from "@boxyard/core";
import type { ProcessConfig } from "@boxyard/spec/agent";
import type { CommandCgroup } from "../cgroup/command-cgroups.ts";
import { LIMITS } from "../limits.ts";
import { resizeTerminal, type TerminalSize } from "../pty/terminal.ts";
import { libc } from "../sys/native.ts";
import { after } from "../timers.ts";
import { Broadcast, type Reader } from "./broadcast.ts";
import type { EndStatus } from "./end-status.ts";
import { EndedCommand } from "./ended-commands.ts";
import { closedError, type InputQueue } from "./input-queue.ts";
import type { OutputKind } from "./output-log.ts";
import type { OutputShares } from "./output-shares.ts";
import { Pump } from "./pump.ts";

const SIGKILL = 9;
const SIGTERM = 15;

export interface CommandParts {
  readonly pid: number;
  readonly config: ProcessConfig;
  readonly tag: string | undefined;
  readonly cgroup: CommandCgroup | undefined;
  readonly input: InputQueue | undefined;
  /** Descriptor of the terminal's master, for resizing; undefined for commands with pipes. */
  readonly terminal: number | undefined;
  readonly outputs: readonly { readonly fd: number; readonly kind: OutputKind }[];
  /** The raw wait status, when the process has been reaped. */
  readonly ended: Promise<number>;
  readonly clock: Clock;
  /** Bounds on its output, which all running commands share. */
  readonly shares: OutputShares;
  /** Makes the end status; called once. */
  describeEnd(waitStatus: number, wasKilled: boolean): EndStatus;
}

/** A process that a client started, until its end is reported. */
export class Command {
  readonly pid: number;
  readonly tag: string | undefined;
  /** Resolves when the end is in the output for all readers. */
  readonly finished: Promise<EndStatus>;
  private readonly parts: CommandParts;
  private readonly output: Broadcast<EndStatus>;
  private readonly pumps: readonly Pump[];
  /** Reject functions of pending `sendInput` calls. */
  private readonly senders = new Set<(error: AppError) => void>();
  /** After a signal by a client the contract requires the end at once, also when the process survived the signal for a while. */
  private wasSignalled = false;
  private wasKilled = false;
  /** Set when the process was reaped: from then on the kernel may give its pid to another process. */
  private isReaped = false;
  private cancelDeadline = () => {};
  private cancelBegin = () => {};
  private readonly leaveShares: () => void;

  constructor(parts: CommandParts) {
    this.parts = parts;
    this.pid = parts.pid;
    this.tag = parts.tag;
    this.output = new Broadcast<EndStatus>(parts.clock, parts.shares);
    this.leaveShares = parts.shares.enter();
    this.pumps = parts.outputs.map(({ fd, kind }) => new Pump(fd, kind, this.output, parts.clock));
    if (this.isTerminal) this.beginToRead();
    else this.cancelBegin = after(LIMITS.unwatchedMs, () => this.beginToRead());
    this.finished = this.run();
  }

  /** The order of the client. */
  get config(): ProcessConfig {
    return this.parts.config;
  }

  get isTerminal(): boolean {
    return this.parts.terminal !== undefined;
  }

  get isRunning(): boolean {
    return this.output.end === undefined;
  }

  /** A reader of its output from `offset`, or of what no reader has received yet. */
  subscribe(offset?: number): Reader<EndStatus> {
    return this.output.subscribe(offset);
  }

  /** What is kept after the end. Arguments and environment, which may be megabytes, are not. */
  rest(): EndedCommand {
    return new EndedCommand(this.pid, this.tag, this.output, this.parts.clock);
  }

  /** Kills the process and everything it started. */
  kill(): void {
    this.wasSignalled = true;
    this.wasKilled = true;
    if (this.parts.cgroup?.kill() || this.isReaped) return;
    // Without a cgroup only its process group can be killed, which it leads.
    if (libc().kill(-this.pid, SIGKILL) < 0) libc().kill(this.pid, SIGKILL);
  }

  /** Sends SIGTERM to the process, and to none that it started. */
  terminate(): void {
    this.wasSignalled = true;
    if (!this.isReaped) libc().kill(this.pid, SIGTERM);
  }

  /** After `ms`, unless the process has ended by then, calls `onDeadline` and kills it. Processes that it leaves running have no deadline. */
  killAfter(ms: number, onDeadline: () => void): void {
    if (this.isReaped) return;
    this.cancelDeadline = after(ms, () => {
      onDeadline();
      this.kill();
    });
  }

  /** Resolves when the process's side of the pipe or terminal has taken the bytes. Rejects at the end of the command. */
  async sendInput(kind: "stdin" | "pty", bytes: Uint8Array): Promise<void> {
    if (kind === "stdin" && this.isTerminal) throw wrongKind(`a terminal is assigned to process ${this.pid}; send 'pty'`);
    if (kind === "pty" && !this.isTerminal) throw wrongKind(`no terminal is assigned to process ${this.pid}; send 'stdin'`);
    if (!this.parts.input) throw closedError();
    await this.untilEnd(this.parts.input.write(bytes));
  }

  /** Closes the input after what was sent before. Repeatable. Throws for a terminal. */
  closeInput(): void {
    if (this.isTerminal) {
      throw new AppError("unknown", "the input of a terminal cannot be closed; send Ctrl+D (0x04) instead", { reason: "is_terminal" });
    }
    this.parts.input?.close();
  }

  /** Dimensions that the caller omits keep their value. Throws for a command without a terminal. */
  resize(size: Partial<TerminalSize> | undefined): void {
    if (this.parts.terminal === undefined) throw wrongKind(`no terminal is assigned to process ${this.pid}`);
    if (size && this.isRunning) resizeTerminal(this.parts.terminal, size);
  }

  /** As `written`, but rejects at the end of the command. (Promise.race with `finished` would add a callback to `finished` at each call.) */
  private untilEnd(written: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.senders.add(reject);
      const settled = () => this.senders.delete(reject);
      written.then(resolve, reject).then(settled);
    });
  }

  private beginToRead(): void {
    for (const pump of this.pumps) pump.begin();
  }

  private async run(): Promise<EndStatus> {
    const waitStatus = await this.parts.ended;
    this.isReaped = true;
    this.cancelDeadline();
    await this.drain();
    const end = this.withLoss(this.parts.describeEnd(waitStatus, this.wasKilled));
    this.output.finish(end);
    this.leaveShares();
    this.parts.input?.discard();
    for (const reject of this.senders) reject(closedError());
    this.senders.clear();
    // After the readers were told about the end.
    setImmediate(() => this.parts.cgroup?.remove());
    return end;
  }

  /** Adds a failed read of the output to the end's error, so that no client takes incomplete output for a complete result. */
  private withLoss(end: EndStatus): EndStatus {
    const { failure } = this.pumps.find((pump) => pump.failure !== undefined) ?? {};
    return failure === undefined ? end : { ...end, error: `${end.error ?? end.status} (a part of its output is lost: ${failure})` };
  }

  /**
   * Waits for the rest of the output. The end is never reported before everything is read that the process wrote, whatever the pace of the readers
   * or of the machine. Where another process holds the output open, a server in the background for example, the end is reported when no more output
   * comes, or after `maxMs`. The pumps go on after that, so that writes of such processes neither fail nor block.
   */
  private async drain(): Promise<void> {
    this.cancelBegin();
    for (const pump of this.pumps) pump.sweep();
    if (this.pumps.every((pump) => pump.atEnd)) return;
    this.beginToRead();
    const { clock } = this.parts;
    const startedAt = clock.monotonic();
    for (const pump of this.pumps) pump.hurry();
    this.output.recheck();
    const allDone = Promise.all(this.pumps.map((pump) => pump.done));
    for (;;) {
      const { quietMs, maxMs } = this.wasSignalled ? LIMITS.drainAfterSignal : LIMITS.drain;
      const now = clock.monotonic();
      const open = this.pumps.filter((pump) => !pump.atEnd);
      if (open.length === 0) return;
      const isOwing = open.some((pump) => pump.stillOwes());
      const quietFor = Math.min(...open.map((pump) => now - Math.max(pump.waitingSince ?? now, startedAt)));
      const isQuiet = quietFor >= quietMs && !open.some((pump) => pump.isBehind);
      if (!isOwing && (isQuiet || now - startedAt >= maxMs)) return;
      const timer = new AbortController();
      await Promise.race([allDone, clock.sleep(Math.max(1, quietMs - quietFor), timer.signal).catch(() => {})]);
      timer.abort();
    }
  }
}

function wrongKind(message: string): AppError {
  return new AppError("internal", message, { reason: "wrong_input" });
}
