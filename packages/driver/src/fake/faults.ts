import { AppError } from "@boxyard/core";

/** The verbs of the contract that a fault can be put on. */
export type FaultVerb =
  | "fingerprint"
  | "capacity"
  | "reclaim"
  | "create"
  | "start"
  | "recover"
  | "inspect"
  | "stats"
  | "address"
  | "signal"
  | "wait"
  | "setNetwork"
  | "freeze"
  | "thaw"
  | "pause"
  | "generation"
  | "resume"
  | "revert"
  | "dropGeneration"
  | "destroy"
  | "list"
  | "release"
  | "capture"
  | "snapshot"
  | "listSnapshots"
  | "removeSnapshot"
  | "importLayer"
  | "commit"
  | "mergeLayers"
  | "exportLayer"
  | "removeLayer";

/**
 * What happens to a call.
 * - `fail`: it throws before it does anything (`before`, the default), or after the deed (`after`), as when an answer gets lost.
 * - `hang`: it waits until its signal aborts or `Faults.clear()` is called, and then fails.
 * - `delay`: it goes on after `delayMs`.
 */
export interface Fault {
  readonly kind: "fail" | "hang" | "delay";
  readonly when?: "before" | "after";
  /** How many calls it hits; 1 by default. */
  readonly times?: number;
  readonly delayMs?: number;
  readonly error?: Error;
}

/** A script of faults for a fake driver. Faults of one verb are used up in the order in which they were added. */
export class Faults {
  private readonly script = new Map<FaultVerb, { fault: Fault; left: number }[]>();
  private readonly hanging = new Set<() => void>();
  /** Every call made so far, in order. */
  readonly calls: FaultVerb[] = [];

  add(verb: FaultVerb, fault: Fault): void {
    const list = this.script.get(verb) ?? [];
    list.push({ fault, left: fault.times ?? 1 });
    this.script.set(verb, list);
  }

  /** Forgets the script and fails what hangs. */
  clear(): void {
    this.script.clear();
    for (const wake of this.hanging) wake();
    this.hanging.clear();
  }

  /** Runs `deed` with whatever the script holds for this call. */
  async around<T>(verb: FaultVerb, signal: AbortSignal | undefined, deed: () => Promise<T>): Promise<T> {
    this.calls.push(verb);
    const fault = this.take(verb);
    if (!fault) return deed();
    const error = fault.error ?? new AppError("internal", `Injected fault in ${verb}`, { reason: "injected" });
    if (fault.kind === "delay") {
      await Bun.sleep(fault.delayMs ?? 0);
      return deed();
    }
    if (fault.kind === "hang") {
      await this.hang(signal);
      throw signal?.aborted ? signal.reason : error;
    }
    if (fault.when === "after") await deed();
    throw error;
  }

  private take(verb: FaultVerb): Fault | undefined {
    const list = this.script.get(verb);
    const first = list?.[0];
    if (!list || !first) return undefined;
    first.left -= 1;
    if (first.left <= 0) list.shift();
    return first.fault;
  }

  private hang(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.hanging.delete(wake);
        resolve();
      };
      this.hanging.add(wake);
      if (signal?.aborted) wake();
      signal?.addEventListener("abort", wake, { once: true });
    });
  }
}
