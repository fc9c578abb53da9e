import { ptr } from "bun:ffi";
import { closeSync, constants, openSync } from "node:fs";
import { KernelError } from "./kernel-error.ts";
import { errno, lazyLibc } from "./libc.ts";

const F_OFD_SETLK = 37;
const F_WRLCK = 1n;
/**
 * struct flock: type and whence (16 bits each), start, length (0: all), pid. The kernel only reads it. It is never collected: memory that was freed and
 * zeroed before the call would ask for a shared lock (F_RDLCK is 0), which two can hold.
 */
const WHOLE_FILE = new BigInt64Array([F_WRLCK, 0n, 0n, 0n]);
const { O_RDWR, O_CREAT } = constants;
/** No program that this process starts inherits the lock, unless it is given the descriptor. */
const O_CLOEXEC = 0o2000000;
/** What the kernel says of a lock that another has. */
const HELD = new Set(["EAGAIN", "EACCES"]);

const libc = lazyLibc("fcntl");

/** A held lock; the kernel releases it when its holder dies, and every program that inherited its descriptor. */
export interface FileLock {
  readonly fd: number;
  /** Repeatable. */
  release(): void;
}

/**
 * Takes the exclusive lock of `path`. The file is made when missing, readable by its owner alone, and never removed, because then two processes could
 * hold the lock. What it holds does not matter. The lock belongs to the open file, so that two callers within one process exclude each other too; it
 * also excludes the locks of processes (SQLite's). Undefined when it is held. Throws the errors of `open` and `fcntl`, with `code`.
 */
export function tryLockFile(path: string): FileLock | undefined {
  const fd = openSync(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600);
  const failed = libc().fcntl(fd, F_OFD_SETLK, ptr(WHOLE_FILE)) === -1 ? errno() : undefined;
  if (failed === undefined) return held(fd);
  closeSync(fd);
  const error = new KernelError(`lock ${path}`, failed);
  if (HELD.has(error.code)) return undefined;
  throw error;
}

function held(fd: number): FileLock {
  let isHeld = true;
  return {
    fd,
    release() {
      if (isHeld) closeSync(fd);
      isHeld = false;
    },
  };
}
