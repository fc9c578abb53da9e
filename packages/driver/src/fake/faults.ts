import { AppError } from "@boxyard/core";

/** The calls of the contract that can have a fault. */
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
  | "resize"
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
  | "createVolume"
  | "volume"
  | "listVolumes"
  | "resizeVolume"
  | "exportVolume"
  | "removeVolume"
  | "volumeContent"
  | "importLayer"
  | "commit"
  | "mergeLayers"
  | "exportLayer"
  | "removeLayer";

/**
 * What happens to a call.
 * - `fail`: it throws before it does anything (`before`, the default), or after it has done all (`after`), as when an answer is lost.
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

/** Faults for the calls of a fake driver. Those of one call take effect in the order in which they were added. */
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

  /** Removes all faults, and makes hanging calls fail. */
  clear(): void {
    this.script.clear();
    for (const wake of this.hanging) wake();
    this.hanging.clear();
  }

  /** Runs `deed` with the next fault of this call, if there is one. */
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
