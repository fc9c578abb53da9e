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
  | "relabel"
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
 * - `hold`: it waits until the test lets it go on (`Faults.hold`); it ignores its signal.
 */
export interface Fault {
  readonly kind: "fail" | "hang";
  readonly when?: "before" | "after";
  /** How many calls it hits; 1 by default. */
  readonly times?: number;
  readonly error?: Error;
}

interface Held {
  readonly kind: "hold";
  readonly gate: Gate;
}

/** Where calls wait for a test. */
export class Gate {
  private readonly opened = Promise.withResolvers<void>();
  private count = 0;

  /** How many calls have come to it. */
  get reached(): number {
    return this.count;
  }

  /** Lets the calls that wait go on, and those that come later. Repeatable. */
  open(): void {
    this.opened.resolve();
  }

  async pass(): Promise<void> {
    this.count++;
    await this.opened.promise;
  }
}

/** Faults for the calls of a fake driver. Those of one call take effect in the order in which they were added. */
export class Faults {
  private readonly script = new Map<FaultVerb, { fault: Fault | Held; left: number }[]>();
  private readonly gates: Gate[] = [];
  private readonly hanging = new Set<() => void>();
  /** Every call made so far, in order. */
  readonly calls: FaultVerb[] = [];

  add(verb: FaultVerb, fault: Fault): void {
    this.append(verb, fault, fault.times ?? 1);
  }

  /** Holds the next calls, one by default, before they do anything, until the gate is opened. */
  hold(verb: FaultVerb, times = 1): Gate {
    const gate = new Gate();
    this.gates.push(gate);
    this.append(verb, { kind: "hold", gate }, times);
    return gate;
  }

  /** Removes all faults, makes hanging calls fail, and lets held ones go on. */
  clear(): void {
    this.script.clear();
    for (const gate of this.gates.splice(0)) gate.open();
    for (const wake of this.hanging) wake();
    this.hanging.clear();
  }

  /** Runs `deed` with the next fault of this call, if there is one. */
  async around<T>(verb: FaultVerb, signal: AbortSignal | undefined, deed: () => Promise<T>): Promise<T> {
    this.calls.push(verb);
    const fault = this.take(verb);
    if (!fault) return deed();
    if (fault.kind === "hold") {
      await fault.gate.pass();
      return deed();
    }
    const error = fault.error ?? new AppError("internal", `Injected fault in ${verb}`, { reason: "injected" });
    if (fault.kind === "hang") {
      await this.hang(signal);
      throw signal?.aborted ? signal.reason : error;
    }
    if (fault.when === "after") await deed();
    throw error;
  }

  private append(verb: FaultVerb, fault: Fault | Held, times: number): void {
    const list = this.script.get(verb) ?? [];
    list.push({ fault, left: times });
    this.script.set(verb, list);
  }

  private take(verb: FaultVerb): Fault | Held | undefined {
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
