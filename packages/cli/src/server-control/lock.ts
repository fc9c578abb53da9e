import { join } from "node:path";
import { AppError, systemClock } from "@boxyard/core";
import { type FileLock, tryLockFile } from "@boxyard/core/file-lock";

const TRY_EVERY_MS = 20;

/** Waits for the lock under which a server is set up and started, so that two commands at once do not start two. */
export async function acquireLock(
  dataDir: string,
  options: { limitMs: number; onWait: () => void; signal: AbortSignal },
): Promise<FileLock> {
  const path = join(dataDir, "start.lock");
  const deadline = systemClock.monotonic() + options.limitMs;
  for (let told = false; ; told = true) {
    const lock = tryLock(path);
    if (lock) return lock;
    if (!told) options.onWait();
    if (systemClock.monotonic() > deadline) {
      const message = `another boxyard command has been starting the server for ${options.limitMs / 1000} s`;
      throw new AppError("deadline_exceeded", message, { reason: "start_lock" });
    }
    await systemClock.sleep(TRY_EVERY_MS, options.signal);
  }
}

function tryLock(path: string): FileLock | undefined {
  try {
    return tryLockFile(path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EISDIR") throw cause;
    throw new AppError("failed_precondition", `${path} is a directory, in the place of a file that holds no data: move it away`, {
      reason: "bad_lock",
      cause,
    });
  }
}
