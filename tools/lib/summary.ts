import { addTallies, type Tally } from "./suite.ts";

/** Largest number of test files that may need a second run on a CI machine. If there are more, the run has failed (docs/flake-patterns.md). */
export const MAX_UNSTABLE = 2;

/** What a run prints at its end, and whether it failed. The last line is always `N passed, N failed, N skipped`. */
export function summaryOf(tallies: readonly Tally[], ci: boolean): { readonly lines: readonly string[]; readonly failed: boolean } {
  const total = addTallies(tallies);
  const unstable = total.unstable ?? [];
  const tooUnstable = ci && unstable.length > MAX_UNSTABLE;
  const nothingRan = total.passed + total.failed === 0;
  const failed = total.failed + (nothingRan ? 1 : 0) + (tooUnstable ? 1 : 0);
  const limit = tooUnstable ? `, and CI allows ${MAX_UNSTABLE}` : "";
  return {
    lines: [
      ...(unstable.length > 0
        ? [`second runs: ${unstable.length} test files failed, and passed the second time${limit}: ${unstable.join(", ")}`]
        : []),
      `${total.passed} passed, ${failed} failed, ${total.skipped.length} skipped`,
    ],
    failed: failed > 0,
  };
}
