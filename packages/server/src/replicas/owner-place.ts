import { type Clock, later } from "@boxyard/core";
import type { UpstreamTls } from "@boxyard/http1";

/** Where the owner serves. */
export interface OwnerPlace {
  readonly epoch: number;
  readonly host: string;
  readonly port: number;
  /** How TLS to it begins; without it plain HTTP is spoken. */
  readonly tls?: UpstreamTls | undefined;
}

/** How long a request waits for an owner: longer than a lease and a takeover. */
const WAIT_MS = 15_000;
/** Requests that wait at once; others are refused. */
const MOST_WAITING = 1000;

interface Waiting {
  /** Called with an owner of a later epoch. */
  readonly after: number;
  readonly tell: (place: OwnerPlace | undefined) => void;
}

/** What this replica knows of the owner, and the requests that wait for one. */
export class OwnerPlaceView {
  private place: OwnerPlace | undefined;
  private readonly waiting = new Set<Waiting>();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get current(): OwnerPlace | undefined {
    return this.place;
  }

  /** Undefined: no owner serves now. */
  set(place: OwnerPlace | undefined): void {
    this.place = place;
    if (place === undefined) return;
    for (const entry of [...this.waiting]) if (place.epoch > entry.after) this.end(entry, place);
  }

  /**
   * Calls `tell` with an owner whose epoch is later than `after`, or with undefined when there is none in time, or when too many wait. The result gives
   * up the wait.
   */
  wait(after: number, tell: (place: OwnerPlace | undefined) => void): () => void {
    const { place } = this;
    if ((place && place.epoch > after) || this.waiting.size >= MOST_WAITING) {
      tell(place && place.epoch > after ? place : undefined);
      return () => {};
    }
    const entry: Waiting = { after, tell };
    this.waiting.add(entry);
    const stop = later(WAIT_MS, () => this.end(entry, undefined), this.clock);
    return () => {
      stop();
      this.waiting.delete(entry);
    };
  }

  /** All that wait are told that there is no owner. */
  close(): void {
    for (const entry of [...this.waiting]) this.end(entry, undefined);
  }

  private end(entry: Waiting, place: OwnerPlace | undefined): void {
    if (this.waiting.delete(entry)) entry.tell(place);
  }
}
