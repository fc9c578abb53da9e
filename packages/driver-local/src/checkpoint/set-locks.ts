import { readFileSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { ChildProgram, type ForkServer } from "../sys/fork-server/index.ts";
import type { PosixLock } from "./posix-locks.ts";

/*
 * Only a process itself can set its locks: each is stopped (ptrace) where it waits for CRIU, made to call fcntl, and then waits again. A child of the
 * fork server does that. If this child is killed in between, the process ends too (PTRACE_O_EXITKILL), so that no process runs with foreign registers.
 */

const PTRACE = { POKEDATA: 5, SINGLESTEP: 9, GETREGS: 12, SETREGS: 13, DETACH: 17, SEIZE: 0x4206, INTERRUPT: 0x4207 } as const;
const O_EXITKILL = 0x100000;
/** Flag of wait4 (__WALL): waits for traced processes too that are not children of the caller. */
const WALL = 0x40000000;
const F_SETLK = 6n;
const TYPES = { READ: 0n, WRITE: 1n } as const;
const WORD_BYTES = 8n;
/** Below what a function may use under its stack pointer (System V ABI), with room for a `struct flock`. */
const BELOW_STACK = 1024n;
/** Length of the instruction `syscall`. */
const SYSCALL_BYTES = 2n;
/** A program of the fork server has 1,024 steps at most, and a lock takes eight. */
const LOCKS_AT_ONCE = 100;
const POLL_MS = 1;

/** Index of each register in `struct user_regs_struct` (x86-64). */
const REGISTER = { rax: 10, rdx: 12, rsi: 13, rdi: 14, origRax: 15, rip: 16, cs: 17, eflags: 18, rsp: 19, ss: 20 } as const;
const REGISTERS = 27;
const USER = { cs: 0x33n, ss: 0x2bn, eflags: 0x202n } as const;
const FCNTL = 72n;

/** Whether locks can be set again on this kind of processor. */
export const canSetLocks = process.arch === "x64";

export interface LockSetter {
  readonly forkServer: ForkServer;
  /** Pids of the sandbox's processes, in the machine's process namespace; each waits in a system call. */
  readonly processes: readonly number[];
  /** Longest time until one of them waits in its call, in milliseconds. */
  readonly limitMs: number;
}

/** Makes the processes set the locks; locks that they have already do no harm. Throws when a process does not have all of its locks afterwards. */
export async function setLocks(locks: readonly PosixLock[], { forkServer, processes, limitMs }: LockSetter): Promise<void> {
  const pids = new Map(processes.map((pid) => [numberInside(pid), pid]));
  for (const [inside, own] of Map.groupBy(locks, ({ pid }) => pid)) {
    const pid = pids.get(inside);
    if (pid === undefined) throw lost(`process ${inside} does not exist`);
    const at = await placeOf(pid, limitMs);
    for (let first = 0; first < own.length; first += LOCKS_AT_ONCE) {
      await forkServer.run(settingProgram(pid, at, own.slice(first, first + LOCKS_AT_ONCE)));
    }
    for (const [fd, ofFile] of Map.groupBy(own, ({ fd }) => fd)) check(pid, fd, ofFile);
  }
}

/** Where a process waits in the kernel. */
export interface Place {
  readonly stack: bigint;
  readonly instruction: bigint;
}

/** The program of the fork server's child. Exits with 0; any call that fails ends it, and the process with it. */
export function settingProgram(pid: number, { stack, instruction }: Place, locks: readonly PosixLock[]): ChildProgram {
  const program = new ChildProgram();
  const ptrace = (request: keyof typeof PTRACE, address: bigint | number = 0, data: bigint | number | BigUint64Array = 0) =>
    program.call("ptrace", [PTRACE[request], pid, address, data], `${request} of ${pid}`);
  const untilStopped = () => program.call("wait4", [pid, null, WALL, null], String(pid));
  const [before, flock] = [new BigUint64Array(REGISTERS), stack - BELOW_STACK];
  ptrace("SEIZE", 0, O_EXITKILL);
  ptrace("INTERRUPT");
  untilStopped();
  ptrace("GETREGS", 0, before);
  for (const { fd, type, start, length } of locks) {
    // struct flock: type and whence (SEEK_SET), start, length; the process that asks need not be named.
    for (const [i, word] of [TYPES[type], start, length].entries()) ptrace("POKEDATA", flock + BigInt(i) * WORD_BYTES, word);
    ptrace("SETREGS", 0, registersOf({ stack, instruction }, [BigInt(fd), F_SETLK, flock]));
    ptrace("SINGLESTEP");
    untilStopped();
  }
  // With its old registers the process repeats the call that it waited in.
  ptrace("SETREGS", 0, before);
  ptrace("DETACH");
  program.call("exit", [0]);
  return program;
}

function registersOf({ stack, instruction }: Place, [fd, command, flock]: readonly [bigint, bigint, bigint]): BigUint64Array {
  const registers = new BigUint64Array(REGISTERS);
  const values = {
    ...{ rax: FCNTL, rdi: fd, rsi: command, rdx: flock, rip: instruction - SYSCALL_BYTES, rsp: stack, ...USER },
    // Tells the kernel not to restart the interrupted call now.
    origRax: -1n,
  };
  for (const [name, value] of Object.entries(values)) {
    registers[REGISTER[name as keyof typeof REGISTER]] = BigInt.asUintN(64, value);
  }
  return registers;
}

/** Waits until the process is in a system call, and reads its place from /proc/<pid>/syscall: number, six arguments, stack pointer, next instruction. */
async function placeOf(pid: number, limitMs: number): Promise<Place> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const words = readFileSync(`/proc/${pid}/syscall`, "utf8").trim().split(" ");
    const [stack, instruction] = words.slice(-2);
    if (words.length === 9 && Number(words[0]) >= 0 && stack && instruction) {
      return { stack: BigInt(stack), instruction: BigInt(instruction) };
    }
    if (performance.now() > deadline) throw lost(`process ${pid} does not wait in a system call`);
    await Bun.sleep(POLL_MS);
  }
}

/** Checks that the process has the locks, by its fdinfo: `lock: 1: POSIX  ADVISORY  WRITE 4711 00:2f:257 0 EOF`. */
function check(pid: number, fd: number, locks: readonly PosixLock[]): void {
  const info = readFileSync(`/proc/${pid}/fdinfo/${fd}`, "utf8");
  const there = new Set(
    [...info.matchAll(/^lock:\s+\d+: POSIX\s+\S+\s+(\S+) \S+ \S+ (\d+ \S+)$/gm)].map(([, type, range]) => `${type} ${range}`),
  );
  for (const { type, start, length } of locks) {
    const text = `${type} ${start} ${length === 0n ? "EOF" : start + length - 1n}`;
    if (!there.has(text)) throw lost(`process ${pid} could not lock ${text} of its file ${fd}`);
  }
}

/** The pid in the innermost pid namespace: the last number of `NSpid`. */
export function numberInside(pid: number): number {
  const lines = readFileSync(`/proc/${pid}/status`, "utf8").split("\n");
  return Number(
    lines
      .find((line) => line.startsWith("NSpid:"))
      ?.split("\t")
      .at(-1),
  );
}

const lost = (why: string) =>
  new AppError("internal", `A file lock of the sandbox could not be set again: ${why}`, { reason: "restore_failed" });
