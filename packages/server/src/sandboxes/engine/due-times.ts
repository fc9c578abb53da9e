interface Entry {
  readonly id: string;
  readonly at: number;
}

/** Entries that no id has any more are dropped once there are as many as those that count, and this many more. */
const SPARE = 64;

/** When each of many ids is due. What a change costs grows with the logarithm of their number. */
export class DueTimes {
  private readonly times = new Map<string, number>();
  /** A heap: each entry is due no later than the two below it. Entries stay when their id gets another time, and are dropped at the top. */
  private heap: Entry[] = [];

  set(id: string, at: number): void {
    if (this.times.get(id) === at) return;
    this.times.set(id, at);
    this.push({ id, at });
    if (this.heap.length > 2 * this.times.size + SPARE) this.rebuild();
  }

  delete(id: string): void {
    this.times.delete(id);
  }

  /** The earliest time; undefined when there is none. */
  next(): number | undefined {
    for (let top = this.heap[0]; top; top = this.heap[0]) {
      if (this.times.get(top.id) === top.at) return top.at;
      this.pop();
    }
    return undefined;
  }

  /** Takes out the ids whose time is not after `now`, the earliest first. */
  takeDue(now: number): string[] {
    const due: string[] = [];
    for (let at = this.next(); at !== undefined && at <= now; at = this.next()) {
      const { id } = this.heap[0] as Entry;
      this.times.delete(id);
      this.pop();
      due.push(id);
    }
    return due;
  }

  private rebuild(): void {
    // A sorted list is a heap.
    this.heap = Array.from(this.times, ([id, at]) => ({ id, at })).sort((a, b) => a.at - b.at);
  }

  private push(entry: Entry): void {
    const { heap } = this;
    let place = heap.length;
    heap.push(entry);
    while (place > 0) {
      const above = (place - 1) >> 1;
      const other = heap[above] as Entry;
      if (other.at <= entry.at) break;
      heap[place] = other;
      place = above;
    }
    heap[place] = entry;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && (heap[below + 1] as Entry).at < (heap[below] as Entry).at) below += 1;
      const other = heap[below] as Entry;
      if (last.at <= other.at) break;
      heap[place] = other;
      place = below;
    }
    heap[place] = last;
  }
}
