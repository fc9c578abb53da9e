import { percentile } from "./stats.ts";

/**
 * How much of one thing's speed another one has, from times that were taken in turns: the median of the ratios of pairs. Load of the machine that comes and goes
 * affects both times of a pair. Both lists are equally long.
 */
export function medianRatio(base: readonly number[], compared: readonly number[]): number {
  const ratios = base.map((ms, at) => ms / (compared[at] ?? Number.NaN));
  return percentile(
    ratios.sort((a, b) => a - b),
    0.5,
  );
}
