/** Creates within this time count as one burst. */
const BURST_MS = 10_000;
/** A burst is expected again for so long; then half of it, and so on. */
const HALF_MS = 60_000;
/** How long after its last create one sandbox of a kind waits. */
const FORGET_MS = 600_000;
/** Kinds that are remembered. */
const MOST_KINDS = 64;

interface Asked {
  /** When the creates of the last burst were asked for. */
  recent: number[];
  /** The largest burst, as it is expected again at `peakAt`. */
  peak: number;
  peakAt: number;
  lastAt: number;
}

/** How many sandboxes of each kind are worth waiting for the next creates: none before the first create of a kind, then as many as its bursts had. Times in milliseconds. */
export class Demand {
  /** The kind that was asked for last comes last. */
  private readonly kinds = new Map<string, Asked>();
  private readonly most: number;
  private readonly least: number;

  /** `most`: sandboxes that may wait, of all kinds together. `least`: how many of a kind are wanted while it is remembered. */
  constructor(most: number, least = 1) {
    this.most = most;
    this.least = least;
  }

  /** A create of this kind has succeeded, which was asked for at `askedAt`: creates that take long are a burst if they were asked for at once. */
  note(kind: string, now: number, askedAt = now): void {
    const { recent = [], peak = 0, peakAt = now } = this.kinds.get(kind) ?? {};
    const burst = [...recent.filter((at) => askedAt - at < BURST_MS), askedAt].slice(-this.most);
    const left = decayed(peak, now - peakAt);
    const isLarger = burst.length >= left;
    this.kinds.delete(kind);
    this.kinds.set(kind, { recent: burst, peak: isLarger ? burst.length : peak, peakAt: isLarger ? now : peakAt, lastAt: now });
    const [oldest] = this.kinds.keys();
    if (this.kinds.size > MOST_KINDS && oldest !== undefined) this.kinds.delete(oldest);
  }

  forget(kind: string): void {
    this.kinds.delete(kind);
  }

  /** For each kind, the number of sandboxes that should wait: one each first, those asked for last before the others, then the rest in turns. */
  wanted(now: number): ReadonlyMap<string, number> {
    const wishes = new Map<string, number>();
    for (const [kind, { peak, peakAt, lastAt }] of [...this.kinds].reverse()) {
      if (now - lastAt >= FORGET_MS) this.kinds.delete(kind);
      else wishes.set(kind, Math.max(this.least, Math.floor(decayed(peak, now - peakAt))));
    }
    const given = new Map<string, number>();
    let left = this.most;
    for (let round = 1; left > 0; round++) {
      const before = left;
      for (const [kind, wish] of wishes) {
        if (left === 0 || wish < round) continue;
        given.set(kind, round);
        left -= 1;
      }
      if (left === before) break;
    }
    return given;
  }
}

const decayed = (peak: number, ageMs: number): number => peak * 0.5 ** Math.floor(Math.max(0, ageMs) / HALF_MS);
