/** Timers that code under test has started and that have neither fired nor been cleared. */
export interface WatchedTimers extends Disposable {
  /** For each, the place in the code that has started it. */
  running(): string[];
}

type Start = (callback: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => unknown;

/** Watches `setTimeout` and `setInterval` of this process until it is disposed of. */
export function watchTimers(): WatchedTimers {
  const { setTimeout, setInterval, clearTimeout, clearInterval } = globalThis;
  const running = new Map<unknown, string>();
  const watch =
    (start: Start, isOnce: boolean) =>
    (callback: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
      const fire = (...given: unknown[]) => {
        if (isOnce) running.delete(timer);
        callback(...given);
      };
      const timer = start(fire, ms, ...args);
      running.set(timer, new Error(`${ms} ms`).stack ?? "");
      return timer;
    };
  const clear = (end: (timer: never) => void) => (timer: unknown) => {
    running.delete(timer);
    end(timer as never);
  };
  Object.assign(globalThis, {
    setTimeout: watch(setTimeout as Start, true),
    setInterval: watch(setInterval as Start, false),
    clearTimeout: clear(clearTimeout),
    clearInterval: clear(clearInterval),
  });
  return {
    running: () => [...running.values()],
    [Symbol.dispose]: () => void Object.assign(globalThis, { setTimeout, setInterval, clearTimeout, clearInterval }),
  };
}
