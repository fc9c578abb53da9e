import { ptr } from "bun:ffi";
import { closeSync, constants, openSync } from "node:fs";
import { KernelError } from "./kernel-error.ts";
import { errno, lazyLibc } from "./libc.ts";

const F_OFD_SETLK = 37;
const F_WRLCK = 1;
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
  // struct flock: type and whence (16 bits each), start, length (0: all), pid.
  const lock = new BigInt64Array(4);
  lock[0] = BigInt(F_WRLCK);
  const failed = setLock(fd, lock);
  if (failed === 0) return held(fd);
  closeSync(fd);
  const error = new KernelError(`lock ${path}`, failed);
  if (HELD.has(error.code)) return undefined;
  throw error;
}

/** Returns the errno; 0 when the lock was taken. */
function setLock(fd: number, lock: BigInt64Array): number {
  return libc().fcntl(fd, F_OFD_SETLK, ptr(lock)) === -1 ? errno() : 0;
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
