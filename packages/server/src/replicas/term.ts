import { AppError, type Clock } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { LeaseRows } from "../store/index.ts";

/** How long a lease is valid; an owner that was lost is replaced after that time. */
export const LEASE_MS = 6000;
const RENEW_MS = 1000;
/** The owner takes its lease for ended so much earlier than the database does. */
const MARGIN_MS = 1000;
const VALID_MS = LEASE_MS - MARGIN_MS;
/** An owner that could not renew its lease for so long ends its work, also when nobody has taken over. */
const LONGEST_LAPSE_MS = 60_000;

type TermLease = Pick<LeaseRows, "renew" | "release">;

/** A moment by both clocks of this machine. The monotonic one may stand still while the machine sleeps, and the other one may be set back. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export const momentOf = (clock: Clock): Moment => ({ monotonic: clock.monotonic(), wall: clock.now() });

/**
 * The time for which this replica owns the sandboxes. While the lease is valid, by both clocks of this machine, the owner may change sandboxes. After that
 * it may not, until the lease was renewed: requests to running sandboxes go on. The term is lost when another replica has taken over.
 */
export class Term {
  readonly epoch: number;
  /** Rejects when the term is lost. */
  readonly lost: Promise<never>;
  private validFrom: Moment;
  private readonly lease: TermLease;
  private readonly clock: Clock;
  private readonly logger: Logger;
  private readonly stopping = new AbortController();
  private readonly lose: (error: unknown) => void;
  private readonly renewing: Promise<void>;
  private isLost = false;
  private address = "";

  /** `takenAt`: before the lease was taken. */
  constructor(lease: TermLease, epoch: number, takenAt: Moment, { clock, logger }: { clock: Clock; logger: Logger }) {
    const { promise, reject } = Promise.withResolvers<never>();
    // If nobody waits for `lost`, its rejection must not end the process.
    promise.catch(() => {});
    this.lost = promise;
    this.lose = reject;
    this.lease = lease;
    this.epoch = epoch;
    this.clock = clock;
    this.logger = logger;
    this.validFrom = takenAt;
    this.renewing = this.renew();
  }

  /** Whether this replica may change sandboxes now. */
  get isValid(): boolean {
    const { monotonic, wall } = momentOf(this.clock);
    return !this.isLost && monotonic - this.validFrom.monotonic < VALID_MS && wall - this.validFrom.wall < VALID_MS;
  }

  /** Throws `unavailable`, reason `not_owner`, unless `isValid`. */
  check(): void {
    if (!this.isValid) throw notOwner("This replica could not renew its lease in time, so another one may own the sandboxes");
  }

  /** Tells the other replicas where the owner serves; empty: it does not any more. What cannot be told now is told with the next renewal. */
  async tell(address: string): Promise<void> {
    this.address = address;
    await this.lease.renew(this.epoch, address).catch(() => {});
  }

  /** Ends the term: another replica may take over at once. */
  async end(): Promise<void> {
    this.stopping.abort();
    await this.renewing;
    if (this.isLost) return;
    this.isLost = true;
    await this.lease.release(this.epoch).catch((err: unknown) => this.logger.warn({ err }, "the lease could not be released; it expires"));
  }

  private async renew(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.clock.sleep(RENEW_MS, signal).catch(() => {});
      if (signal.aborted) return;
      try {
        await this.renewOnce();
      } catch (error) {
        this.isLost = true;
        this.lose(error);
        return;
      }
    }
  }

  private async renewOnce(): Promise<void> {
    const askedAt = momentOf(this.clock);
    const answer = await this.lease.renew(this.epoch, this.address).catch((error: unknown) => error);
    if (answer === true) {
      this.validFrom = askedAt;
      return;
    }
    if (answer === false) throw notOwner("Another replica has taken over");
    this.logger.warn({ err: answer }, "the lease could not be renewed");
    if (askedAt.monotonic - this.validFrom.monotonic > VALID_MS + LONGEST_LAPSE_MS)
      throw notOwner("The lease could not be renewed for a minute");
  }
}

const notOwner = (message: string) => new AppError("unavailable", message, { reason: "not_owner", details: { retryAfter: 1 } });
