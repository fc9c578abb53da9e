import type { AppError } from "@boxyard/core";
import type { Sleeper } from "./route-table.ts";

/** Called once a sandbox runs or could not be resumed; with the refusal if there is no room for it. */
type GoOn = (noRoom: AppError | undefined) => void;

/** Requests that wait for the resume of their sandboxes: one resume for all requests to a sandbox. A request that gives up is released. */
export class WakeQueue {
  private readonly waiting = new Map<string, Set<GoOn>>();

  /** How many requests wait for the sandbox. */
  count(sandboxId: string): number {
    return this.waiting.get(sandboxId)?.size ?? 0;
  }

  /** Wakes the sandbox unless a wake is under way, and calls `goOn` at its end. The returned function gives up: `goOn` is not called then. */
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
      // Each runs as a task of its own, so that an error of one does not keep the others waiting.
      for (const goOn of requests) queueMicrotask(() => requests.delete(goOn) && goOn(noRoom));
    });
    return requests;
  }
}
