import { ptr } from "bun:ffi";
import { readFileSync } from "node:fs";
import { KernelError } from "./errors.ts";
import { CLONE, close, cstring, O, open, pipe, type SyscallArg, trySyscall } from "./libc.ts";
import { native } from "./native.ts";
import { NUMBERS, type SyscallName } from "./numbers.ts";
import { reap, waitForExit } from "./reaper.ts";

/** Stands for the result of an earlier call of the same program, a descriptor for instance. */
export interface Result {
  readonly index: number;
}

const isResult = (arg: SyscallArg | Result): arg is Result => typeof arg === "object" && arg !== null && "index" in arg;

const WORDS = 9;
const RESULT = 8;
/** What native.ts does beside system calls. */
const SPECIAL = { resetSignals: -1n, goOnInCgroup: -2n, gate: -3n, store: -4n } as const;
/** What a result holds before its call was made. */
const NOT_RUN = -(1n << 62n);
const STACK_BYTES = 65_536;
const SIGCHLD = 17n;
const NO_CGROUP = -1;
const O_CLOEXEC = 0o2000000;
const O_DIRECTORY_RDONLY = O.DIRECTORY;
const LAST_FD = 0xffff_ffff;
/** Standard input, output and error. */
const STDIO = 3;
const SIGKILL = 9;
const ESRCH = 3;
const E2BIG = 7;
/** Gate, cgroup, clone: the last calls of a parked child's own. */
const PARKED_TAIL = 3;
/** Room for the calls of a parked child, those that are added to it included. */
const MAX_PARKED_CALLS = 128;

/** Whether a child can be born in a cgroup here. Else it must write itself into cgroup.procs, and wait 7 to 12 ms for the kernel. */
export const CAN_BE_BORN_IN_CGROUP = process.arch === "x64";

/**
 * A list of system calls for a child that shares our memory until it ends or executes a program (see native.ts). The child stops at the
 * first call that fails.
 */
export class ChildProgram {
  private readonly calls: { name: string; words: bigint[] }[] = [];
  /** Memory whose addresses the calls hold. */
  private readonly keep: NodeJS.TypedArray[] = [];
  private words = new BigInt64Array(0);
  private program = new BigInt64Array(0);
  private parked: { readonly pid: number; readonly gate: number; readonly calls: number } | undefined;

  call(name: SyscallName, args: readonly (SyscallArg | Result)[], what = ""): Result {
    return this.add(BigInt(NUMBERS[name]), what ? `${name} ${what}` : name, args);
  }

  /** Writes `text` to an existing file of the kernel's, in one write. */
  writeFile(path: string, text: string): void {
    const O_WRONLY = 1;
    const fd = this.call("openat", [-100, path, O_WRONLY | O_CLOEXEC, 0], path);
    const data = new TextEncoder().encode(text);
    this.call("write", [fd, data, data.byteLength], path);
    this.call("close", [fd]);
  }

  /** Our descriptor `fd` (opened with `flags`) as the child has it: a parked one has none of those that came after it. */
  descriptor(fd: number, flags: number): Result | number {
    return this.parked ? this.call("openat", [-100, `/proc/${process.pid}/fd/${fd}`, flags | O_CLOEXEC, 0], `descriptor ${fd}`) : fd;
  }

  /** Puts a value into memory that a later call reads. */
  store(memory: BigUint64Array, index: number, value: Result | number): void {
    this.keep.push(memory);
    this.add(SPECIAL.store, "store", [BigInt(ptr(memory)) + BigInt(index * 8), value]);
  }

  /** Gives signals their default actions and unblocks them; nothing but `execute` may follow. */
  resetSignals(): void {
    this.add(SPECIAL.resetSignals, "reset signals", []);
  }

  /** The last call: becomes the program `file` (an absolute path). */
  execute(file: string, args: readonly string[], env: Readonly<Record<string, string>>): void {
    const vector = (texts: readonly string[]) => new BigInt64Array([...texts.map((text) => this.word(text)), 0n]);
    const environment = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    this.call("execve", [file, vector([file, ...args]), vector(environment)], file);
  }

  /** Runs the list to its end while this thread waits (so it must not block). Throws the `KernelError` of the call that failed. */
  run(flags = 0): void {
    const pid = this.start(BigInt(CLONE.VM | CLONE.VFORK | flags));
    reap(pid);
    this.throwFailure();
  }

  /**
   * Starts the list, which ends with `execute`, and resolves with the program's exit code; by signal: 128 + its number. `cgroup`: the v2
   * cgroup's directory to be born in (see `CAN_BE_BORN_IN_CGROUP`).
   */
  async spawn(cgroup?: string, onStarted?: (pid: number) => void): Promise<number> {
    const pid = this.parked ? await this.goOn(this.parked, cgroup ?? "") : this.startIn(cgroup);
    onStarted?.(pid);
    const code = await waitForExit(pid);
    this.throwFailure();
    return code;
  }

  /**
   * Runs what the list holds by now in a child that then waits; calls added later are run by `spawn`, in a sibling born in the cgroup.
   * For deeds that take long and can be done ahead. The child keeps nothing of ours open and ends with this process.
   */
  static park(prepare: (program: ChildProgram) => void): ChildProgram {
    const program = new ChildProgram();
    const gate = pipe();
    program.keepOnly(gate.read);
    prepare(program);
    program.add(SPECIAL.gate, "gate", [gate.read, new Uint8Array(1), NUMBERS.read]);
    program.call("openat", [-100, null, O_DIRECTORY_RDONLY | O_CLOEXEC, 0], "cgroup");
    program.add(SPECIAL.goOnInCgroup, "clone into the cgroup", []);
    const pid = program.startBehind(gate, BigInt(CLONE.VM) | SIGCHLD, MAX_PARKED_CALLS);
    program.parked = { pid, gate: gate.write, calls: program.calls.length };
    return program;
  }

  /**
   * Starts a child with `flags` that does nothing but be there until `release` is called, or this process ends. Nobody waits for its end:
   * on a busy machine that took milliseconds, in which this thread did nothing else.
   */
  static hold(flags: number): { readonly pid: number; release(): void } {
    const program = new ChildProgram();
    const gate = pipe();
    program.keepOnly(gate.read);
    program.add(SPECIAL.gate, "gate", [gate.read, new Uint8Array(1), NUMBERS.read]);
    const pid = program.startBehind(gate, BigInt(CLONE.VM | flags), 0);
    return {
      pid,
      release() {
        close(gate.write);
        // What it runs lies in our memory, which `program` holds until then.
        waitForExit(pid)
          .finally(() => program.discard())
          .catch(() => {});
      },
    };
  }

  /** True when a parked child has done its part and waits. False: not yet, or it failed or died. */
  isReady(): boolean {
    if (!this.parked) return false;
    const { pid, calls } = this.parked;
    const lastOfItsPart = this.words[(calls - PARKED_TAIL - 1) * WORDS + RESULT] as bigint;
    return lastOfItsPart >= 0n && isRunning(pid);
  }

  /** Ends a parked child that is not needed any more. Repeatable. */
  discard(): void {
    if (!this.parked) return;
    const { pid, gate } = this.parked;
    this.parked = undefined;
    trySyscall("kill", pid, SIGKILL);
    this.reap(pid);
    close(gate);
  }

  /** A method so that this program's memory outlives its child. */
  private reap(pid: number): void {
    reap(pid);
  }

  private add(nr: bigint, name: string, args: readonly (SyscallArg | Result)[]): Result {
    let refs = 0n;
    const words = [0, 1, 2, 3, 4, 5].map((i) => {
      const arg = args[i];
      if (arg === undefined || arg === null) return 0n;
      if (isResult(arg)) refs |= 1n << BigInt(i);
      return isResult(arg) ? BigInt(arg.index) : this.word(arg);
    });
    this.calls.push({ name, words: [nr, ...words, refs, NOT_RUN] });
    return { index: this.calls.length - 1 };
  }

  private keepOnly(fd: number): void {
    if (fd > STDIO) this.call("close_range", [STDIO, fd - 1, 0]);
    this.call("close_range", [fd + 1, LAST_FD, 0]);
  }

  /** Lets a parked child go on; resolves with the pid of the sibling that does. */
  private async goOn(parked: NonNullable<typeof this.parked>, cgroup: string): Promise<number> {
    if (this.calls.length > MAX_PARKED_CALLS) throw new KernelError("too many calls", E2BIG);
    const { start, size } = this.stack();
    const clone = parked.calls - 1;
    this.words[(clone - 1) * WORDS + 2] = this.word(cgroup);
    // Stack, its size, and the result of the call before: the cgroup's descriptor.
    this.words.set([start, size, BigInt(clone - 1), 0n, 0n, 0n, 0b100n], clone * WORDS + 1);
    this.words.set(
      this.calls.slice(parked.calls).flatMap((call) => call.words),
      parked.calls * WORDS,
    );
    this.program[0] = BigInt(this.calls.length);
    this.parked = undefined;
    trySyscall("write", parked.gate, new Uint8Array(1), 1);
    close(parked.gate);
    await waitForExit(parked.pid);
    const sibling = this.words[clone * WORDS + RESULT] as bigint;
    if (sibling > 0n) return Number(sibling);
    this.throwFailure();
    throw new KernelError("the parked child", ESRCH);
  }

  /** A new stack; its end, from which it grows down, is aligned to 16. */
  private stack(): { start: bigint; size: bigint } {
    const memory = new Uint8Array(STACK_BYTES);
    this.keep.push(memory);
    return { start: (BigInt(ptr(memory)) + 15n) & ~15n, size: BigInt(STACK_BYTES - 16) };
  }

  private word(arg: Exclude<SyscallArg, null>): bigint {
    if (typeof arg === "number" || typeof arg === "bigint") return BigInt(arg);
    const buffer = typeof arg === "string" ? cstring(arg) : arg;
    this.keep.push(buffer);
    return BigInt(ptr(buffer));
  }

  private startIn(cgroup: string | undefined): number {
    if (cgroup === undefined) return this.start(BigInt(CLONE.VM) | SIGCHLD);
    const fd = open(cgroup, O_DIRECTORY_RDONLY);
    try {
      return this.start(BigInt(CLONE.VM) | SIGCHLD, fd);
    } finally {
      close(fd);
    }
  }

  /** Starts a child that reads from the gate; its end of it is the child's alone. */
  private startBehind(gate: { read: number; write: number }, flags: bigint, capacity: number): number {
    try {
      return this.start(flags, NO_CGROUP, capacity);
    } catch (error) {
      close(gate.write);
      throw error;
    } finally {
      close(gate.read);
    }
  }

  private start(flags: bigint, cgroupFd = NO_CGROUP, capacity = 0): number {
    this.words = new BigInt64Array(Math.max(this.calls.length, capacity) * WORDS);
    this.words.set(this.calls.flatMap((call) => call.words));
    this.program = new BigInt64Array(3);
    this.keep.push(this.program, this.words);
    const { start, size } = this.stack();
    const pid = Number(native().by_child(flags, ptr(this.words), this.calls.length, start, size, ptr(this.program), cgroupFd));
    if (pid < 0) throw new KernelError("clone", -pid);
    return pid;
  }

  private throwFailure(): void {
    for (const [i, call] of this.calls.entries()) {
      const result = this.words[i * WORDS + RESULT] as bigint;
      if (result < 0n && result !== NOT_RUN) throw new KernelError(call.name, Number(-result));
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}
