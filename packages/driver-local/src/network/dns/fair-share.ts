/** Something that holds a place; told when it must give it up for somebody who has fewer. */
interface Place {
  readonly giveUp: () => void;
}

/**
 * A number of places that holders share. When all are taken, one who has few gets the place that the one with most has had longest: so no
 * number of greedy holders keeps a modest one out, and there are never more places taken than there are.
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
   * Takes a place and returns how to leave it, which can be repeated; undefined when the holder must do without. `giveUp` is called (once, if
   * at all) when the place goes to somebody else; it is not the holder's any more then.
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

  /** Only for one who will still have fewer than the other afterwards, or two would take each other's places for ever. */
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
