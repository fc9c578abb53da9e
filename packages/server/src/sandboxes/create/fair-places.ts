interface Waiter {
  readonly go: () => void;
  readonly refuse: (reason: unknown) => void;
}

/** A limited number of places for work that runs at once. Callers that find none wait in a queue of their team; the teams get free places in turn. */
export class FairPlaces {
  private free: number;
  /** Waiting callers by team, the team whose turn is next first. No team is there without a caller. */
  private readonly teams = new Map<string, Set<Waiter>>();

  constructor(places: number) {
    this.free = places;
  }

  /** Number of callers of a team that wait. */
  waitingOf(team: string): number {
    return this.teams.get(team)?.size ?? 0;
  }

  /** Waits for a place, which is held until it is disposed of. Rejects with the signal's reason. */
  async enter(team: string, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.free > 0) this.free--;
    else await this.wait(team, signal);
    let mine = true;
    return {
      [Symbol.dispose]: () => {
        if (mine) this.leave();
        mine = false;
      },
    };
  }

  /**
   * Makes room in the queue for one more caller of `team`: refuses the newest caller of the team that has the most waiting, with `reason`. Returns false,
   * and refuses nobody, when no team has at least two more than `team` has.
   */
  displaceFor(team: string, reason: unknown): boolean {
    const [longest] = [...this.teams.values()].toSorted((a, b) => b.size - a.size);
    if (!longest || longest.size < this.waitingOf(team) + 2) return false;
    [...longest].at(-1)?.refuse(reason);
    return true;
  }

  private async wait(team: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const queue = this.teams.get(team) ?? new Set();
    this.teams.set(team, queue);
    const waiter: Waiter = {
      go: resolve,
      refuse: (reason) => {
        // A caller that was already given a place keeps it; its work sees the signal.
        if (!queue.delete(waiter)) return;
        if (queue.size === 0) this.teams.delete(team);
        reject(reason);
      },
    };
    queue.add(waiter);
    const giveUp = () => waiter.refuse(signal.reason);
    signal.addEventListener("abort", giveUp, { once: true });
    await promise.finally(() => signal.removeEventListener("abort", giveUp));
  }

  private leave(): void {
    const [turn] = this.teams;
    if (!turn) {
      this.free++;
      return;
    }
    const [team, queue] = turn;
    const [next] = queue;
    this.teams.delete(team);
    if (!next) throw new Error("a team without callers waits");
    queue.delete(next);
    // The team's next turn comes after those of the others.
    if (queue.size > 0) this.teams.set(team, queue);
    next.go();
  }
}
