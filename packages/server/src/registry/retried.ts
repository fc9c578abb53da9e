import { type Clock, isAppError } from "@boxyard/core";

const MAX_ATTEMPTS = 3;
const RETRY_MS = 250;
/** An attempt that failed after a longer time is not repeated: the next one would take as long. */
const QUICK_MS = 10_000;

/** Runs a request without side effects, up to three times with backoff, while it fails for a reason that may pass. */
export async function retried<T>(clock: Clock, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const startedAt = clock.monotonic();
    try {
      return await ask();
    } catch (error) {
      const isLate = clock.monotonic() - startedAt > QUICK_MS;
      if (attempt === MAX_ATTEMPTS || isLate || !isTransient(error)) throw error;
      await clock.sleep(RETRY_MS * 2 ** attempt, signal).catch(() => signal.throwIfAborted());
    }
  }
}

const isTransient = (error: unknown): boolean =>
  isAppError(error, "registry_unreachable") || (isAppError(error, "unavailable") && Number(error.details.status) >= 500);
