import type { AppError } from "@boxyard/core";
import { isStoreFault } from "./store-fault.ts";
import type { StoreFile } from "./store-file.ts";

/** What keeps the store from taking changes. */
export interface StoreTrouble {
  /** `store_full`, `store_denied`, `store_broken`, `store_lost` or `store_unavailable`. */
  readonly reason: string;
  /** For people: what is wrong and what to do. */
  readonly message: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/**
 * Whether the store takes changes now. While it does not, the server is degraded: what runs goes on and can be ended, nothing new is made. Each
 * statement that fails for the store's sake begins that, and the next change that is written ends it.
 */
export class StoreHealth {
  /** Of a store that is one file. */
  file: StoreFile | undefined;
  /** Where a store is kept that an earlier server had written anew, and whose name another file had by the start of this one. */
  keptAs: string | undefined;
  private current: StoreTrouble | undefined;
  private readonly listeners = new Set<(trouble: StoreTrouble | undefined) => void>();

  get trouble(): StoreTrouble | undefined {
    return this.current;
  }

  /** Throws what is wrong with the store's file. Call it before a change: the database itself does not notice a file that was deleted. */
  checkFile(): void {
    const trouble = this.file?.trouble();
    if (trouble) throw trouble;
  }

  /** Called at every change; undefined when all is well again. */
  onChange(listener: (trouble: StoreTrouble | undefined) => void): void {
    this.listeners.add(listener);
  }

  /** Any error of a statement. */
  failed(error: unknown): void {
    if (!isStoreFault(error)) return;
    const { reason, message } = error as AppError;
    if (this.current?.reason !== reason) this.change({ reason, message, since: this.current?.since ?? Date.now() });
  }

  /** A change was written. */
  wrote(): void {
    if (this.current) this.change(undefined);
  }

  private change(trouble: StoreTrouble | undefined): void {
    this.current = trouble;
    for (const listener of this.listeners) listener(trouble);
  }
}
