/** Summary of the samples of one repeated action: durations in milliseconds unless `unit` says otherwise. */
export interface Summary {
  readonly unit?: string;
  readonly samples: number;
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly min: number;
  readonly max: number;
}

const round = (ms: number): number => Math.round(ms * 100) / 100;

/** The smallest value that at least `share` of the samples do not exceed. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export function summarize(samplesMs: readonly number[]): Summary {
  const sorted = [...samplesMs].sort((a, b) => a - b);
  return {
    samples: sorted.length,
    p50: round(percentile(sorted, 0.5)),
    p90: round(percentile(sorted, 0.9)),
    p95: round(percentile(sorted, 0.95)),
    p99: round(percentile(sorted, 0.99)),
    min: round(sorted[0] ?? Number.NaN),
    max: round(sorted.at(-1) ?? Number.NaN),
  };
}

/** Runs `deed` `count` times after `warmUp` unmeasured ones, one after another, each `idleMs` after the one before. */
export async function repeat(count: number, deed: () => Promise<unknown>, warmUp = 2, idleMs = 0): Promise<Summary> {
  const samples: number[] = [];
  for (let run = -warmUp; run < count; run++) {
    if (idleMs > 0) await Bun.sleep(idleMs);
    const startedAt = performance.now();
    await deed();
    if (run >= 0) samples.push(performance.now() - startedAt);
  }
  return summarize(samples);
}
