/** A place that is taken; `giveUp` is called when a holder with fewer places gets it. */
interface Place {
  readonly giveUp: () => void;
}

/**
 * A fixed number of places that holders share. When all are taken, a holder with few places gets the oldest place of the holder with the most:
 * so greedy holders, however many, do not keep a modest one out, and never are more than `total` places taken.
 */
export class FairShare<Holder> {
  private readonly total: number;
  private readonly each: number;
  private readonly places = new Map<Holder, Set<Place>>();
  private count = 0;

  /** `total` places, of which one holder has at most `each`. */
  constructor(total: number, each: number) {
    this.total = total;
    this.each = each;
  }

  get taken(): number {
    return this.count;
  }

  /**
   * Takes a place and returns the function that leaves it (repeatable); undefined when the holder gets none. `giveUp` is called, at most
   * once, when another holder gets the place; it is no longer this holder's then.
   */
  enter(holder: Holder, giveUp: () => void): (() => void) | undefined {
    const own = this.places.get(holder)?.size ?? 0;
    if (own >= this.each) return undefined;
    if (this.count >= this.total && !this.makeRoom(own)) return undefined;
    const place: Place = { giveUp };
    const mine = this.places.get(holder) ?? new Set();
    this.places.set(holder, mine.add(place));
    this.count++;
    return () => this.leave(holder, place);
  }

  private leave(holder: Holder, place: Place): void {
    const mine = this.places.get(holder);
    if (!mine?.delete(place)) return;
    this.count--;
    if (mine.size === 0) this.places.delete(holder);
  }

  /** Only for a holder that will still have fewer places than the other afterwards: otherwise two would take each other's places for ever. */
  private makeRoom(own: number): boolean {
    let greediest: { holder: Holder; places: Set<Place> } | undefined;
    for (const [holder, places] of this.places) if (places.size > (greediest?.places.size ?? own + 1)) greediest = { holder, places };
    const [oldest] = greediest?.places ?? [];
    if (!greediest || !oldest) return false;
    this.leave(greediest.holder, oldest);
    oldest.giveUp();
    return true;
  }
}
