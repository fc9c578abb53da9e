import type { AppError, Clock } from "@boxyard/core";
import { isStoreFault } from "./store-fault.ts";
import type { StoreFile } from "./store-file.ts";

/** Why the store takes no changes. */
export interface StoreTrouble {
  /** `store_full`, `store_denied`, `store_broken`, `store_lost` or `store_unavailable`. */
  readonly reason: string;
  /** For the operator: what is wrong and what to do. */
  readonly message: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/**
 * Whether the store takes changes now. While it does not, the server is degraded: sandboxes go on and can be ended, but none is made. A statement
 * that fails with an error of `storeFault` begins this state; the next change that is written ends it.
 */
export class StoreHealth {
  /** The store's file; undefined for PostgreSQL and for a store in memory. */
  file: StoreFile | undefined;
  /** Path of the copy that `finishPutBack` has kept at this start, if any. */
  keptAs: string | undefined;
  /** Told how many milliseconds each statement or transaction took, the wait for its turn included. */
  onAnswer: ((ms: number) => void) | undefined;
  private current: StoreTrouble | undefined;
  readonly clock: Clock;
  private readonly listeners = new Set<(trouble: StoreTrouble | undefined) => void>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get trouble(): StoreTrouble | undefined {
    return this.current;
  }

  /** Throws if the store's file was deleted or replaced. To be called before a change, because SQLite does not notice that. */
  checkFile(): void {
    const trouble = this.file?.trouble();
    if (trouble) throw trouble;
  }

  /** Calls `listener` at each change of the trouble, with undefined when the store takes changes again. */
  onChange(listener: (trouble: StoreTrouble | undefined) => void): void {
    this.listeners.add(listener);
  }

  /** To be called with any error of a statement. */
  failed(error: unknown): void {
    if (!isStoreFault(error)) return;
    const { reason, message } = error as AppError;
    if (this.current?.reason !== reason) this.change({ reason, message, since: this.current?.since ?? this.clock.now() });
  }

  /** To be called when a change was written. */
  wrote(): void {
    if (this.current) this.change(undefined);
  }

  private change(trouble: StoreTrouble | undefined): void {
    this.current = trouble;
    for (const listener of this.listeners) listener(trouble);
  }
}
