import { addTallies, type Failure, type Tally } from "./suite.ts";

/** One in so many test files may need another run on a CI machine (docs/flake-patterns.md says why). */
const FILES_FOR_EACH_UNSTABLE = 100;
/** How many may in a small run. */
const LEAST_ALLOWED = 2;

/** Bounds of what is printed again at the end. A test's own report of its failure is the last that it prints. */
const MOST_LINES = 60;
const MOST_COLUMNS = 400;
const MOST_FAILURES = 20;

/** Largest number of test files that may need another run on a CI machine when so many ran. If there are more, the run has failed. */
export const mostUnstable = (files: number): number => Math.max(LEAST_ALLOWED, Math.floor(files / FILES_FOR_EACH_UNSTABLE));

/** What a run prints at its end, and whether it failed. The last line is always `N passed, N failed, N skipped`. */
export function summaryOf(tallies: readonly Tally[], ci: boolean): { readonly lines: readonly string[]; readonly failed: boolean } {
  const total = addTallies(tallies);
  const unstable = total.unstable ?? [];
  const allowed = mostUnstable(total.files ?? 0);
  const tooUnstable = ci && unstable.length > allowed;
  const nothingRan = total.passed + total.failed === 0;
  const failed = total.failed + (nothingRan ? 1 : 0) + (tooUnstable ? 1 : 0);
  const limit = tooUnstable ? `, and CI allows ${allowed} of ${total.files ?? 0}` : "";
  return {
    lines: [
      ...linesOf(total.failures ?? []),
      ...(unstable.length > 0
        ? [`second runs: ${unstable.length} test files failed, and passed in a later run${limit}: ${unstable.join(", ")}`]
        : []),
      `${total.passed} passed, ${failed} failed, ${total.skipped.length} skipped`,
    ],
    failed: failed > 0,
  };
}

/** The first failure of each file once more: CI keeps only the end of its output, and the failure was printed when it happened. */
function linesOf(failures: readonly Failure[]): string[] {
  const left = failures.length - MOST_FAILURES;
  return [
    ...failures.slice(0, MOST_FAILURES).flatMap(({ name, output }) => [`first failure of ${name}:`, ...endOf(output)]),
    ...(left > 0 ? [`and first failures of ${left} more`] : []),
  ];
}

function endOf(output: string): string[] {
  const lines = output.trimEnd().split("\n");
  const cut = (line: string) => (line.length > MOST_COLUMNS ? `${line.slice(0, MOST_COLUMNS)} …` : line);
  const rest = lines.length > MOST_LINES ? [`    … ${lines.length - MOST_LINES} lines before`] : [];
  return [...rest, ...lines.slice(-MOST_LINES).map((line) => `    ${cut(line)}`)];
}
