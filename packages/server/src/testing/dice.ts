/** Gives whole numbers from 0 up to `below`, which is left out: the same ones in each run for a seed. For tests. */
export function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >> 8) % below;
  };
}
