import { type Clock, systemClock } from "@boxyard/core";

/**
 * Layers that work in progress uses (pulls, builds, uploads): the garbage collection must not remove them. In memory only: the work of a server
 * ends with it.
 *
 * **The rules that make it safe:** pin a layer first, then ask whether it exists. Hold a pin, of no layer if need be, before making a layer, whose
 * digest is not known before: layers that are made while any pin is held are kept.
 */
export class Pins {
  private readonly counts = new Map<string, number>();
  private readonly watchers = new Set<Set<string>>();
  /** When each pin in force began, in milliseconds since 1970. */
  private readonly begun = new Map<Pin, number>();
  private readonly clock: Clock;

  constructor(clock: Clock = systemClock) {
    this.clock = clock;
  }

  isPinned(digest: string): boolean {
    return this.counts.has(digest);
  }

  /** The layers that are pinned now or become pinned before the result is disposed of, also if they are unpinned again. */
  watch(): Watch {
    const pinned = new Set(this.counts.keys());
    this.watchers.add(pinned);
    const since = Math.min(...this.begun.values());
    return { pinned, since, [Symbol.dispose]: () => void this.watchers.delete(pinned) };
  }

  /** Pins these layers until the result is disposed of. */
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
    this.begun.set(pin, this.clock.now());
    return pin;
  }
}

export interface Watch extends Disposable {
  readonly pinned: ReadonlySet<string>;
  /** Layers that were made at this time (milliseconds since 1970) or later may belong to work in progress; infinite when there is no such work. */
  readonly since: number;
}

export interface Pin extends Disposable {
  /** Pins more layers, until the pin is disposed of. */
  add(digests: readonly string[]): void;
}
