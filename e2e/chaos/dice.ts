/** Random numbers that a seed repeats (mulberry32). */
export class Dice {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** 0 to below 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.next() * items.length)] as T;
  }

  /** One of the entries, each as often as its weight says. */
  weighted<T>(entries: readonly (readonly [weight: number, item: T])[]): T {
    let left = this.next() * entries.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, item] of entries) {
      left -= weight;
      if (left < 0) return item;
    }
    return (entries.at(-1) as readonly [number, T])[1];
  }
}
