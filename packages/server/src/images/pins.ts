/**
 * Layers in the hands of work in progress (pulls, builds, uploads), which the garbage collection must leave alone. In memory only: work
 * that a dead server had begun protects nothing.
 *
 * **The rules that make it safe:** pin a layer first, then ask whether it is there; and hold a pin (of anything, of nothing) before making
 * a layer: whatever comes into being while a pin is held is pinned with it, since its digest cannot be known before.
 */
export class Pins {
  private readonly counts = new Map<string, number>();
  private readonly watchers = new Set<Set<string>>();
  /** When each pin that is held began, milliseconds since 1970. */
  private readonly begun = new Map<Pin, number>();

  isPinned(digest: string): boolean {
    return this.counts.has(digest);
  }

  /** What is pinned now, or becomes pinned before the result is disposed of, even if it is unpinned again. */
  watch(): Watch {
    const pinned = new Set(this.counts.keys());
    this.watchers.add(pinned);
    const since = Math.min(...this.begun.values());
    return { pinned, since, [Symbol.dispose]: () => void this.watchers.delete(pinned) };
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
    const pin: Pin = {
      add,
      [Symbol.dispose]: () => {
        this.begun.delete(pin);
        for (const digest of held.splice(0)) {
          const count = (this.counts.get(digest) ?? 1) - 1;
          if (count === 0) this.counts.delete(digest);
          else this.counts.set(digest, count);
        }
      },
    };
    this.begun.set(pin, Date.now());
    return pin;
  }
}

export interface Watch extends Disposable {
  readonly pinned: ReadonlySet<string>;
  /** Layers that came into being at this time (milliseconds since 1970) or later are work in progress; infinite when there is none. */
  readonly since: number;
}

export interface Pin extends Disposable {
  /** Pins more; they are unpinned with the rest. */
  add(digests: readonly string[]): void;
}
