import { close, hasErrno, O, open, syscall } from "./libc.ts";

const F_OFD_SETLK = 37;
const F_WRLCK = 1;

/** A held lock; the kernel releases it when its holder dies, and every program that inherited its descriptor. */
export interface FileLock {
  readonly fd: number;
  release(): void;
}

/**
 * Takes the exclusive lock of `path`. The file is made when missing, and never removed, because then two processes could hold the lock. The lock
 * belongs to the open file, so that two callers within one process exclude each other too. Undefined when it is held.
 */
export function tryLockFile(path: string): FileLock | undefined {
  const fd = open(path, O.RDWR | O.CREAT, 0o600);
  // struct flock: type and whence (16 bits each), start, length (0: all), pid.
  const lock = new BigInt64Array(4);
  lock[0] = BigInt(F_WRLCK);
  try {
    syscall("fcntl", [fd, F_OFD_SETLK, lock], path);
  } catch (error) {
    close(fd);
    if (hasErrno(error, "EAGAIN", "EACCES")) return undefined;
    throw error;
  }
  let held = true;
  return {
    fd,
    release() {
      if (held) close(fd);
      held = false;
    },
  };
}

/** As `tryLockFile`, but waits until the lock is free; `onWait` is called once when it is not free at first. */
export async function lockFile(path: string, onWait: () => void = () => {}, signal?: AbortSignal): Promise<FileLock> {
  for (let told = false; ; told = true) {
    signal?.throwIfAborted();
    const lock = tryLockFile(path);
    if (lock) return lock;
    if (!told) onWait();
    await Bun.sleep(100);
  }
}
