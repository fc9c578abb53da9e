import { type FileLock, tryLockFile } from "@boxyard/core/file-lock";

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
