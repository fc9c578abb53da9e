import { ptr } from "bun:ffi";
import { KernelError } from "./errors.ts";
import { CLONE, cstring, type SyscallArg } from "./libc.ts";
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
const RESET_SIGNALS = -1n;
/** What a result holds before its call was made. */
const NOT_RUN = -(1n << 62n);
const STACK_BYTES = 65_536;
const SIGCHLD = 17n;
const NO_CGROUP = -1;

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

  call(name: SyscallName, args: readonly (SyscallArg | Result)[], what = ""): Result {
    let refs = 0n;
    const words = [0, 1, 2, 3, 4, 5].map((i) => {
      const arg = args[i];
      if (arg === undefined || arg === null) return 0n;
      if (isResult(arg)) refs |= 1n << BigInt(i);
      return isResult(arg) ? BigInt(arg.index) : this.word(arg);
    });
    this.calls.push({ name: what ? `${name} ${what}` : name, words: [BigInt(NUMBERS[name]), ...words, refs, NOT_RUN] });
    return { index: this.calls.length - 1 };
  }

  /** Writes `text` to an existing file of the kernel's, in one write. */
  writeFile(path: string, text: string): void {
    const O_WRONLY_CLOEXEC = 1 | 0o2000000;
    const fd = this.call("openat", [-100, path, O_WRONLY_CLOEXEC, 0], path);
    const data = new TextEncoder().encode(text);
    this.call("write", [fd, data, data.byteLength], path);
    this.call("close", [fd]);
  }

  /** Gives signals their default actions and unblocks them; nothing but `execute` may follow. */
  resetSignals(): void {
    this.calls.push({ name: "reset signals", words: [RESET_SIGNALS, 0n, 0n, 0n, 0n, 0n, 0n, 0n, NOT_RUN] });
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

  /** Starts a child with `flags` that runs the list without waiting for it; the caller ends it with `kill` and then `reap`. */
  hold(flags: number): number {
    return this.start(BigInt(CLONE.VM | flags));
  }

  /**
   * Starts the list, which ends with `execute`, and resolves with the program's exit code; by signal: 128 + its number. `cgroupFd`: an
   * open v2 cgroup directory to be born in (see `CAN_BE_BORN_IN_CGROUP`).
   */
  async spawn(cgroupFd = NO_CGROUP): Promise<number> {
    const pid = this.start(BigInt(CLONE.VM) | SIGCHLD, cgroupFd);
    const code = await waitForExit(pid);
    this.throwFailure();
    return code;
  }

  private word(arg: Exclude<SyscallArg, null>): bigint {
    if (typeof arg === "number" || typeof arg === "bigint") return BigInt(arg);
    const buffer = typeof arg === "string" ? cstring(arg) : arg;
    this.keep.push(buffer);
    return BigInt(ptr(buffer));
  }

  private start(flags: bigint, cgroupFd = NO_CGROUP): number {
    this.words = new BigInt64Array(this.calls.flatMap((call) => call.words));
    const stack = new Uint8Array(STACK_BYTES);
    const program = new BigInt64Array(2);
    this.keep.push(stack, program, this.words);
    // Its end, from which the stack grows down, must be aligned to 16.
    const start = (BigInt(ptr(stack)) + 15n) & ~15n;
    const size = BigInt(STACK_BYTES - 16);
    const pid = Number(native().by_child(flags, ptr(this.words), this.calls.length, start, size, ptr(program), cgroupFd));
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
