import type { BenchResult, Verdict } from "../bench.ts";
import type { Machine } from "../machine.ts";
import { ratioOf } from "../ratio.ts";

/** What became of a bench of `--all`. */
export type Outcome = { readonly result: BenchResult } | { readonly skipped: string } | { readonly failed: string };

export interface Done {
  readonly name: string;
  /** Rows of SPECIFICATION.md. */
  readonly promises: readonly number[];
  readonly seconds: number;
  readonly outcome: Outcome;
}

/** Everything that `--all` has found; what `--publish` writes as JSON. */
export interface Page {
  readonly version: 1;
  readonly at: string;
  readonly machine: Machine;
  /** Processes that wanted a CPU in the last minute, before the first bench and after the last: figures of a busy machine are no promise's. */
  readonly load: { readonly before: number; readonly after: number };
  readonly seconds: number;
  readonly benches: readonly Done[];
}

/** A promise and what was measured for it, or why nothing was. */
interface Row {
  readonly promises: readonly number[];
  readonly bench: string;
  readonly what: string;
  readonly measured: string;
  /** 1: exactly what is promised; less is better. */
  readonly ratio?: number;
  readonly state: "kept" | "missed" | "skipped" | "failed";
}

export const rowsOf = ({ benches }: Pick<Page, "benches">): Row[] => benches.flatMap(rowsOfBench);

function rowsOfBench({ name, promises, outcome }: Done): Row[] {
  const common = { promises, bench: name };
  if ("skipped" in outcome) return [{ ...common, what: "not run", measured: outcome.skipped, state: "skipped" }];
  if ("failed" in outcome) return [{ ...common, what: "failed", measured: outcome.failed, state: "failed" }];
  return outcome.result.verdicts.map((verdict) => ({ ...common, ...rowOf(verdict) }));
}

function rowOf(verdict: Verdict): Pick<Row, "what" | "measured" | "ratio" | "state"> {
  const ratio = ratioOf(verdict);
  const { promise: what, measured, kept } = verdict;
  return { what, measured, state: kept ? "kept" : "missed", ...(ratio !== undefined && { ratio }) };
}
