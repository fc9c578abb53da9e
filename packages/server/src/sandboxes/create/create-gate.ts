import { AppError, type Clock } from "@boxyard/core";
import { limitMet } from "../../limit-met.ts";
import { FairPlaces } from "./fair-places.ts";

export interface GateLimits {
  /** Creates worked on at once. */
  readonly concurrent: number;
  /** Creates that may wait for their turn. */
  readonly queued: number;
  /** Longest wait. */
  readonly waitMs: number;
}

/**
 * Runs a bounded number of creates at once. A bounded number of others wait, in a queue of their team; the teams take turns. When the queues are full, a
 * team that has less waiting takes a place from the team that has the most.
 */
export class CreateGate {
  private readonly limits: GateLimits;
  private readonly clock: Clock;
  private readonly places: FairPlaces;
  /** Creates that work or wait. */
  private present = 0;

  constructor(limits: GateLimits, clock: Clock) {
    this.limits = limits;
    this.clock = clock;
    this.places = new FairPlaces(limits.concurrent);
  }

  /** Runs `work` when its turn comes. Throws `resource_exhausted` when the queue is full, `unavailable` after too long a wait. */
  async run<T>(team: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const { concurrent, queued } = this.limits;
    const waits = this.present >= concurrent;
    if (this.present >= concurrent + queued && !this.places.displaceFor(team, tooMany(queued))) throw tooMany(queued);
    this.present += 1;
    try {
      // A create that need not wait ignores `signal` here: the work itself handles a client that has gone.
      using _place = await (waits ? this.wait(team, signal) : this.places.enter(team, new AbortController().signal));
      return await work();
    } finally {
      this.present -= 1;
    }
  }

  private async wait(team: string, signal: AbortSignal): Promise<Disposable> {
    const [late, stop] = [new AbortController(), new AbortController()];
    void this.clock.sleep(this.limits.waitMs, stop.signal).then(
      () => late.abort(tooLate()),
      () => {},
    );
    try {
      return await this.places.enter(team, AbortSignal.any([signal, late.signal]));
    } finally {
      stop.abort();
    }
  }
}

function tooMany(queued: number): AppError {
  const advice = "too many sandboxes are being created at once; try again in a moment";
  return limitMet({ limit: "BOXYARD_MAX_QUEUED_CREATES", value: queued, of: "server", reason: "too_many_creates", advice });
}

function tooLate(): AppError {
  return new AppError("unavailable", "The server is busy creating other sandboxes; try again", {
    reason: "sandbox_capacity_unavailable",
    details: { retryAfter: 2 },
  });
}
