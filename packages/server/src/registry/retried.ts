import { setTimeout as sleep } from "node:timers/promises";
import { isAppError } from "@boxyard/core";

const MAX_ATTEMPTS = 3;
const RETRY_MS = 250;
/** A registry that took longer to fail would take as long again. */
const QUICK_MS = 10_000;

/** A question that may be asked again: a registry that has failed for a moment, or whose answer broke off, gets two more chances. */
export async function retried<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const startedAt = performance.now();
    try {
      return await ask();
    } catch (error) {
      const isLate = performance.now() - startedAt > QUICK_MS;
      if (attempt === MAX_ATTEMPTS || isLate || !mayPass(error)) throw error;
      await sleep(RETRY_MS * 2 ** attempt, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

const mayPass = (error: unknown): boolean =>
  isAppError(error, "registry_unreachable") || (isAppError(error, "unavailable") && Number(error.details.status) >= 500);
