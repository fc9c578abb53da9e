import type { AppError } from "@boxyard/core";
import type { Sleeper } from "./route-table.ts";

/** Called once a sandbox runs, or cannot be resumed: with the refusal if the machine has no room for it. */
type GoOn = (noRoom: AppError | undefined) => void;

/** Requests that wait for sandboxes that they wake: one wake for all of a sandbox, and nothing is kept of a request that has gone. */
export class Wakings {
  private readonly waiting = new Map<string, Set<GoOn>>();

  /** How many requests wait for the sandbox. */
  count(sandboxId: string): number {
    return this.waiting.get(sandboxId)?.size ?? 0;
  }

  /** Wakes the sandbox unless that is under way, and calls `goOn` at its end. The function that it gives ends the waiting. */
  wait(sleeper: Sleeper, goOn: GoOn): () => void {
    const requests = this.waiting.get(sleeper.sandboxId) ?? this.wake(sleeper);
    requests.add(goOn);
    return () => void requests.delete(goOn);
  }

  private wake(sleeper: Sleeper): Set<GoOn> {
    const requests = new Set<GoOn>();
    this.waiting.set(sleeper.sandboxId, requests);
    void sleeper.wake().then((noRoom) => {
      this.waiting.delete(sleeper.sandboxId);
      // Each in a task of its own: one that throws keeps none of the others waiting.
      for (const goOn of requests) queueMicrotask(() => requests.delete(goOn) && goOn(noRoom));
    });
    return requests;
  }
}
