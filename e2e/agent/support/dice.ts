/** For how long one kind of hostile input is tried. */
const ROUND_MS = 2_000;

/** Repeatable random numbers. */
export class Dice {
  private state: number;
  constructor(seed: number) {
    // Stirred, so that neighbours begin with different numbers.
    this.state = Math.imul(seed ^ (seed >>> 16), 0x9e3779b1) >>> 0;
  }
  below(n: number): number {
    this.state = (Math.imul(this.state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.state / 2 ** 32) * n);
  }
  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }
}

/** Calls `round` with a new seed until the time is over. */
export async function rounds(round: (dice: Dice, seed: number) => Promise<void>): Promise<void> {
  const deadline = Date.now() + ROUND_MS;
  for (let seed = 1; Date.now() < deadline; seed++) await round(new Dice(seed), seed);
}

/** The text with a few bytes exchanged, and in one of three cases cut off somewhere. */
export function mutate(dice: Dice, text: string): Buffer<ArrayBuffer> {
  const bytes = Buffer.from(text, "latin1") as Buffer<ArrayBuffer>;
  for (let i = dice.below(6); i > 0; i--)
    bytes[dice.below(bytes.length)] = dice.pick([0, 10, 13, 34, 45, 58, 59, 61, 92, 128, 255, dice.below(47)]);
  const cut = dice.below(3) === 0 ? dice.below(bytes.length) : bytes.length;
  return bytes.subarray(0, cut) as Buffer<ArrayBuffer>;
}
