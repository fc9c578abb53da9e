const FACTOR = 8;
const LEAST_ROUNDS = 5;
const ROUNDS = 20;
const RESOLUTION_USEC = 20;

/**
 * True when the time of `work` grows with its size, not with the square of its size. CPU times of one run are compared with each other, so that a
 * slow or busy machine gives the same answer: eight times the size takes eight times as long, or 64 times. Of each size the shortest time counts.
 */
export async function isLinear(work: (size: number) => unknown, size: number): Promise<boolean> {
  let [small, large] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 1; round <= ROUNDS; round++) {
    small = Math.min(small, await timeOf(() => work(size)));
    large = Math.min(large, await timeOf(() => work(FACTOR * size)));
    if (round >= LEAST_ROUNDS && large < 3 * FACTOR * (small + RESOLUTION_USEC)) return true;
  }
  return false;
}

async function timeOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
