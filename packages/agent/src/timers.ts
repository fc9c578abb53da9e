import { type Clock, systemClock } from "@boxyard/core";

/** Longest delay of a timer of the runtime; longer ones would fire at once. */
const MAX_DELAY_MS = 0x7fff_ffff;
/** When each timer that is set fires, by the machine's monotonic clock. */
const due = new Map<object, number>();

/** Calls `fire` once after `ms`, of any length. Returns a function that cancels it. */
export function after(ms: number, fire: () => void): () => void {
  let timer: Timer;
  const key = {};
  due.set(key, performance.now() + ms);
  const arm = (left: number) => {
    timer = setTimeout(
      () => {
        if (left > MAX_DELAY_MS) return arm(left - MAX_DELAY_MS);
        due.delete(key);
        fire();
      },
      Math.min(left, MAX_DELAY_MS),
    );
  };
  arm(ms);
  return () => {
    due.delete(key);
    clearTimeout(timer);
  };
}

/** Resolves after `ms`. */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => void after(ms, resolve));

/** Milliseconds until the next timer fires, 0 when one is late; infinite when none is set. Every timer of the agent is one of this file. */
export function untilNextTimer(): number {
  let next = Number.POSITIVE_INFINITY;
  for (const at of due.values()) next = Math.min(next, at);
  return Math.max(0, next - performance.now());
}

/** The machine's clock; who sleeps by it has a timer of this file. */
export const agentClock: Clock = {
  now: systemClock.now,
  monotonic: systemClock.monotonic,
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = after(ms, () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      });
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  },
};
