import type { Platform } from "@boxyard/testkit";
import type { Summary } from "./stats.ts";
import type { Trace } from "./trace/steps.ts";

/** One promise, kept or not. */
export interface Verdict {
  readonly promise: string;
  readonly measured: string;
  readonly kept: boolean;
}

export interface BenchResult {
  /** What was measured, by name. */
  readonly series: Readonly<Record<string, Summary>>;
  readonly verdicts: readonly Verdict[];
  /** What could not be measured here and why, and figures without a promise. */
  readonly notes: readonly string[];
}

export interface Bench {
  readonly name: string;
  /** Rows of SPECIFICATION.md. */
  readonly promises: readonly number[];
  readonly what: string;
  /** `count` (`--count`) replaces the bench's own number of sandboxes, rounds or seconds. */
  run(platform: Platform, count?: number): Promise<BenchResult>;
  /** Where time and CPU go, step by step, of `count` runs. The platform logs at the level `trace`. */
  trace?(platform: Platform, count?: number): Promise<readonly Trace[]>;
}

export function atMost(promise: string, ms: number, limitMs: number): Verdict {
  return { promise: `${promise} ≤ ${limitMs} ms`, measured: `${ms} ms`, kept: ms <= limitMs };
}

/** `other` takes at least `times` as long as `ours`. */
export function timesFaster(promise: string, ours: number, other: number, times: number): Verdict {
  const ratio = Math.round((other / ours) * 10) / 10;
  return { promise: `${promise} ≥ ${times} ×`, measured: `${ratio} ×`, kept: ratio >= times };
}
