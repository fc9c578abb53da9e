import { type Clock, systemClock } from "./clock.ts";

/** The result of `work`, or a rejection with the error of `late` after `ms` milliseconds. `work` is not cancelled then, and a failure of it later is ignored. */
export async function within<T>(work: Promise<T>, ms: number, late: () => Error, clock: Clock = systemClock): Promise<T> {
  const done = new AbortController();
  const over = clock.sleep(ms, done.signal).then(() => Promise.reject(late()));
  try {
    return await Promise.race([work, over]);
  } finally {
    // Nobody waits for the end of the sleep any more.
    over.catch(() => {});
    done.abort();
  }
}

/** The result of `work`, or a rejection with the reason of `signal` when it aborts first. `work` is not cancelled then, and a failure of it later is ignored. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([promise, work]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
