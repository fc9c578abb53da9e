import { KernelError } from "./errors.ts";
import { trySyscall } from "./syscall.ts";

const WNOHANG = 1;
const WALL = 0x40000000;
const ECHILD = -10;
/** Should a SIGCHLD ever be missed, its child is found within this time. */
const FALLBACK_MS = 50;

const waiting = new Map<number, { resolve: (code: number) => void; reject: (error: Error) => void }>();
let timer: ReturnType<typeof setInterval> | undefined;

/** The exit code of a wait status; an end by signal is 128 + its number, as shells say it. */
function exitCode(status: number): number {
  const signal = status & 0x7f;
  return signal === 0 ? (status >> 8) & 0xff : 128 + signal;
}

/** Waits for a child made by `native.ts`, blocking. */
export function reap(pid: number): number {
  const status = new Int32Array(1);
  const result = trySyscall("wait4", pid, status, WALL, null);
  if (result < 0) throw new KernelError(`wait4 ${pid}`, -result);
  return exitCode(status[0] as number);
}

function sweep(): void {
  const status = new Int32Array(1);
  for (const [pid, { resolve, reject }] of waiting) {
    const result = trySyscall("wait4", pid, status, WALL | WNOHANG, null);
    if (result === 0) continue;
    waiting.delete(pid);
    if (result === pid) resolve(exitCode(status[0] as number));
    else reject(new KernelError(`wait4 ${pid}`, result < 0 ? -result : -ECHILD));
  }
  if (waiting.size === 0 && timer) {
    clearInterval(timer);
    timer = undefined;
    process.off("SIGCHLD", sweep);
  }
}

/** Resolves with the exit code of our child `pid`, told by SIGCHLD. Bun waits for its own children by pid, so neither takes the other's. */
export function waitForExit(pid: number): Promise<number> {
  return new Promise((resolve, reject) => {
    waiting.set(pid, { resolve, reject });
    if (!timer) {
      process.on("SIGCHLD", sweep);
      timer = setInterval(sweep, FALLBACK_MS);
    }
    // It may have ended before we listened.
    sweep();
  });
}
