import { AppError } from "@boxyard/core";
import { processCpuMs } from "@boxyard/core/node";
import { close, hasErrno, KernelError, O, open, pidfdEnded, pidfdOpen } from "../libc.ts";
import { Connection } from "./connection.ts";
import { untilDiscarded, within } from "./end-limit.ts";
import { ChildProgram } from "./program.ts";
import { Watchdog } from "./watchdog.ts";
import { type Answer, FAILURES } from "./wire.ts";

/** Interval of polling for the end of a child after its fork server has ended. */
const LOOK_MS = 10;

export interface RunOptions {
  /** Directory of the v2 cgroup in which the child is created. */
  readonly cgroup?: string;
  /** Called right after the start; `kill` ends the child. When the fork server ends first, `run` fails only after the child has ended. */
  readonly onStarted?: (child: { kill(): void }) => void;
  /** Milliseconds after which the child is killed: errors of `within`. Without it, it may take as long as it needs. */
  readonly limitMs?: number;
}

/** `hung`: the helper did not answer for ten seconds, and was killed. */
export type ForkServerEnd = "ended" | "hung";

interface Pending {
  readonly program: ChildProgram;
  readonly ended: PromiseWithResolvers<number>;
  readonly onStarted?: RunOptions["onStarted"];
  readonly onReady?: () => void;
  /** True when a caller waits for the result, which keeps this process from ending by itself. */
  isWaitedFor: boolean;
  pid?: number;
}

/**
 * Runs lists of system calls in children of a helper (`native/fork-server`), which is small and has one thread: calls that a process with many
 * threads cannot make, or that would change the server. The helper is started ahead. When it ends, the next order starts another; pending orders
 * fail with `unavailable`, reason `fork_server_ended`, and children that had become programs go on. A `Watchdog` finds a helper that hangs, and kills it.
 */
export class ForkServer {
  private readonly program: number;
  private connection: Connection | undefined;
  private readonly pending = new Map<number, Pending>();
  private lastId = 0;
  private childrenMicroseconds = 0;
  private isClosed = false;
  private isHung = false;
  private readonly onEnd: (why: ForkServerEnd) => void;
  private readonly watchdog: Watchdog;

  /**
   * `path`: the helper's program; it is kept open, so that a later set-up does not change the program that runs. `onEnd`: called when the helper
   * ends by itself or hangs. `lookMs`: see `Watchdog`; shorter in tests.
   */
  constructor(path: string, onEnd: (why: ForkServerEnd) => void = () => {}, lookMs?: number) {
    this.onEnd = onEnd;
    this.watchdog = new Watchdog(
      () => this.ping(),
      () => {
        this.isHung = true;
        this.connection?.close();
      },
      lookMs,
    );
    try {
      this.program = open(path, O.PATH);
    } catch (cause) {
      if (!hasErrno(cause, "ENOENT")) throw cause;
      throw new AppError("failed_precondition", `there is no fork server at ${path}: run 'boxyard setup'`, {
        reason: "no_fork_server",
        cause,
      });
    }
    try {
      this.current();
    } catch {
      // The next order tries again, and throws the error.
    }
  }

  /** Process id of the helper; undefined while there is none. */
  get pid(): number | undefined {
    return this.connection?.pid;
  }

  /** CPU time of the current helper and of all ended children, milliseconds. */
  cpuMs(): number {
    return this.childrenMicroseconds / 1000 + (this.pid === undefined ? 0 : processCpuMs(this.pid));
  }

  /**
   * Runs the program and resolves with the exit code of the file that it executes; 128 + the signal's number when a signal ended it. Throws the
   * `KernelError` of the step that failed.
   */
  async run(program: ChildProgram, { cgroup, onStarted, limitMs }: RunOptions = {}): Promise<number> {
    const id = ++this.lastId;
    const connection = this.give(program.order("run", id, { ...(cgroup !== undefined && { cgroup }), wantsPid: onStarted !== undefined }));
    const { promise } = this.expect(id, { program, isWaitedFor: true, ...(onStarted && { onStarted }) });
    return limitMs === undefined ? promise : within(limitMs, promise, () => this.kill(connection, id));
  }

  /** Starts a child that runs the program and then waits for another one, so that slow steps are done ahead. It ends with the helper. */
  park(program: ChildProgram): ParkedChild {
    const id = ++this.lastId;
    const connection = this.give(program.order("park", id));
    let isReady = false;
    const onReady = () => {
      isReady = true;
    };
    const ended = this.expect(id, { program, isWaitedFor: false, onReady });
    // `isGone` reports a failure.
    ended.promise.catch(() => {});
    return new ParkedChild({
      isReady: () => isReady,
      ended: ended.promise,
      goOn: (next, cgroup) => {
        this.pending.set(id, { program: next, isWaitedFor: true, ended });
        this.hold();
        // When the helper has ended, the promise is rejected already.
        if (!connection.send(next.order("goOn", id, { cgroup }))) this.pending.delete(id);
      },
      kill: () => {
        const pending = this.pending.get(id);
        if (pending) pending.isWaitedFor = true;
        this.hold();
        this.kill(connection, id);
      },
    });
  }

  /** Ends the helper, and parked children with it; running programs go on. Repeatable. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.watchdog.watch(false);
    this.connection?.close();
    close(this.program);
  }

  /** Sends an order to the helper. A helper that has ended unnoticed received nothing: the order goes to a new one. */
  private give(order: Uint8Array): Connection {
    for (let tries = 0; tries < 2; tries++) {
      const connection = this.current();
      if (connection.send(order)) return connection;
    }
    throw forkServerEnded();
  }

  private current(): Connection {
    if (this.isClosed) throw new AppError("unavailable", "The driver is closed", { reason: "driver_closed" });
    try {
      this.connection ??= new Connection(
        this.program,
        (answer) => this.receive(answer),
        () => this.leave(),
      );
    } catch (cause) {
      throw new AppError("unavailable", "The fork server does not start", { reason: "fork_server_start", cause });
    }
    return this.connection;
  }

  private expect(id: number, pending: Omit<Pending, "ended">): PromiseWithResolvers<number> {
    const ended = Promise.withResolvers<number>();
    this.pending.set(id, { ...pending, ended });
    this.hold();
    return ended;
  }

  private hold(): void {
    const isWanted = [...this.pending.values()].some((pending) => pending.isWaitedFor);
    this.connection?.want(isWanted);
    this.watchdog.watch(isWanted);
  }

  /** Sends an order that the helper refuses at once, because there is no child of this id: its answer is a sign of life. */
  private ping(): void {
    this.connection?.send(new ChildProgram().order("goOn", ++this.lastId));
  }

  private kill(connection: Connection, id: number): void {
    if (this.connection === connection && this.pending.has(id)) connection.send(new ChildProgram().order("kill", id));
  }

  private receive(answer: Answer): void {
    this.watchdog.onAnswer();
    const pending = this.pending.get(answer.id);
    const connection = this.connection;
    if (!pending || !connection) return;
    if (answer.what === "ready") pending.onReady?.();
    else if (answer.what === "started") {
      pending.pid = answer.pid;
      pending.onStarted?.({ kill: () => this.kill(connection, answer.id) });
    } else {
      this.pending.delete(answer.id);
      this.hold();
      if (answer.what === "ended") {
        this.childrenMicroseconds += answer.cpuMicroseconds;
        pending.ended.resolve(exitCode(answer.status));
      } else pending.ended.reject(new KernelError(FAILURES[answer.step] ?? pending.program.nameOf(answer.step), answer.errno));
    }
  }

  private leave(): void {
    this.connection = undefined;
    this.watchdog.watch(false);
    const lost = [...this.pending.values()];
    this.pending.clear();
    for (const { ended, pid } of lost) void fail(ended, pid);
    const why = this.isHung ? "hung" : "ended";
    this.isHung = false;
    if (!this.isClosed) this.onEnd(why);
  }
}

/** Rejects `ended`; for a child with a known pid only after that child has ended, because it may still be working. */
async function fail(ended: PromiseWithResolvers<number>, pid: number | undefined): Promise<void> {
  if (pid !== undefined) await untilEnded(pid);
  ended.reject(forkServerEnded());
}

const forkServerEnded = () =>
  new AppError("unavailable", "The server's helper for system calls has ended while it worked for this; try again", {
    reason: "fork_server_ended",
  });

async function untilEnded(pid: number): Promise<void> {
  let pidfd: number;
  try {
    pidfd = pidfdOpen(pid);
  } catch {
    return;
  }
  while (!pidfdEnded(pidfd)) await Bun.sleep(LOOK_MS);
  close(pidfd);
}

/** The exit code of a wait status; 128 + the signal's number when a signal ended the process, as in shells. */
function exitCode(status: number): number {
  const signal = status & 0x7f;
  return signal === 0 ? (status >> 8) & 0xff : 128 + signal;
}

interface ParkedOf {
  isReady(): boolean;
  readonly ended: Promise<number>;
  goOn(program: ChildProgram, cgroup: string): void;
  kill(): void;
}

/** A child that has run its first program and waits for the second one. */
export class ParkedChild {
  private readonly of: ParkedOf;
  private hasGoneOn = false;
  private hasEnded = false;

  constructor(of: ParkedOf) {
    this.of = of;
    const end = () => {
      this.hasEnded = true;
    };
    of.ended.then(end, end);
  }

  /** True when the child has run its first program and waits. False: not yet, or it has ended or gone on. */
  isReady(): boolean {
    return this.of.isReady() && !this.hasEnded && !this.hasGoneOn;
  }

  /** True when it has failed or was ended: it will never be ready. */
  isGone(): boolean {
    return this.hasEnded;
  }

  /** Goes on with `program` in a new child that is created in `cgroup`; otherwise as `ForkServer.run`. To be called once. */
  goOn(program: ChildProgram, cgroup: string, limitMs?: number): Promise<number> {
    this.hasGoneOn = true;
    if (!this.hasEnded) this.of.goOn(program, cgroup);
    return limitMs === undefined ? this.of.ended : within(limitMs, this.of.ended, () => this.of.kill());
  }

  /** Ends a child that is not needed, and resolves when it has ended, or stays although it was killed; does nothing when the child has gone on. Repeatable. */
  async discard(): Promise<void> {
    if (this.hasGoneOn) return;
    if (!this.hasEnded) this.of.kill();
    await untilDiscarded(this.of.ended);
  }
}
