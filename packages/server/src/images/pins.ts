/**
 * Layers in the hands of work in progress (pulls, builds, uploads), which the garbage collection must leave alone. In memory only: work
 * that a dead server had begun protects nothing.
 *
 * **The rule that makes it safe:** pin a layer first, then ask whether it is there. The collection asks for pins and takes a layer away
 * without letting go of the thread in between.
 */
export class Pins {
  private readonly counts = new Map<string, number>();
  private readonly watchers = new Set<Set<string>>();

  isPinned(digest: string): boolean {
    return this.counts.has(digest);
  }

  /** What is pinned now or comes to be pinned before the result is disposed of, also if it is let go of again. */
  watch(): { readonly pinned: ReadonlySet<string> } & Disposable {
    const pinned = new Set(this.counts.keys());
    this.watchers.add(pinned);
    return { pinned, [Symbol.dispose]: () => void this.watchers.delete(pinned) };
  }

  /** Pins these until the result is disposed of. */
  hold(digests: readonly string[]): Pin {
    const held: string[] = [];
    const add = (more: readonly string[]) => {
      for (const digest of more) {
        this.counts.set(digest, (this.counts.get(digest) ?? 0) + 1);
        for (const watcher of this.watchers) watcher.add(digest);
      }
      held.push(...more);
    };
    add(digests);
    return {
      add,
      [Symbol.dispose]: () => {
        for (const digest of held.splice(0)) {
          const count = (this.counts.get(digest) ?? 1) - 1;
          if (count === 0) this.counts.delete(digest);
          else this.counts.set(digest, count);
        }
      },
    };
  }
}

export interface Pin extends Disposable {
  /** Pins more, to be let go of with the rest. */
  add(digests: readonly string[]): void;
}
