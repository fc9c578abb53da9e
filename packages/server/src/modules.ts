import { Cleanup, type StepObserver } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";

/** A part of the server that has a life: it opens something, or does something by itself. A service that only answers calls is no module. */
export interface Module<T = unknown> {
  start(): T | Promise<T>;
  /** Ends what `start` has begun, also when `start` has failed half-way or was never called. `graceMs`: how long answers in progress may take. */
  stop?(graceMs: number): unknown;
}

/**
 * The modules of a running server, on one stack: each is stopped before those that were started before it. So a start that fails half-way closes what
 * it has opened, and the end of a server is the same as that of a failed start.
 */
export class Modules {
  private readonly started: Cleanup;
  private readonly observer: StepObserver;
  private graceMs = 0;
  private stopping: Promise<void> | undefined;

  /** `observer`: a fault to inject before and after the start of each module, by name. */
  constructor(logger: Logger, observer: StepObserver = {}) {
    this.started = new Cleanup((module, err) => logger.error({ err, module }, "a part of the server did not stop cleanly"));
    this.observer = observer;
  }

  /** Starts a module, and returns what its `start` returns. When this throws, the caller calls `stop`. */
  async start<T>(name: string, module: Module<T>): Promise<T> {
    this.started.add(name, () => module.stop?.(this.graceMs));
    await this.observer.before?.(name);
    const made = await module.start();
    await this.observer.after?.(name);
    return made;
  }

  /** Stops all modules, the last one first. A failure is logged, and the others are stopped anyway. Repeatable; never throws. */
  stop(graceMs: number): Promise<void> {
    this.graceMs = graceMs;
    this.stopping ??= this.started.run();
    return this.stopping;
  }
}
