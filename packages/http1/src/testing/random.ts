/** Pseudo-random numbers (mulberry32), the same for the same seed, so that a failure can be repeated. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** From 0 to below `count`. */
  below(count: number): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % count;
  }

  /** True once in `count` times. */
  once(count: number): boolean {
    return this.below(count) === 0;
  }

  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  text(alphabet: string, maxLength: number): string {
    return Array.from({ length: this.below(maxLength + 1) }, () => this.of([...alphabet])).join("");
  }
}
