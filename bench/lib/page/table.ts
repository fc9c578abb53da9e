import { type Page, rowsOf } from "./outcome.ts";

const MARK = { kept: "✓", missed: "✗", skipped: "-", failed: "!" } as const;
const HEADS = ["", "promise", "bench", "what", "measured", "of the limit"];

const cellsOf = (page: Page): string[][] =>
  rowsOf(page).map(({ promises, bench, what, measured, ratio, state }) => [
    MARK[state],
    promises.join(", "),
    bench,
    what,
    measured,
    ratio === undefined ? "" : ratio.toFixed(2),
  ]);

/** The table for a terminal: columns of equal width. */
export function printedTable(page: Page): string {
  const rows = [HEADS, ...cellsOf(page)];
  const widths = HEADS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lineOf = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
  return rows.map((row) => lineOf(row).trimEnd()).join("\n");
}

/** The same in Markdown, with what it was measured on. */
export function markdownTable(page: Page): string {
  const { machine, at, load, seconds } = page;
  const on = `${at.slice(0, 10)}, ${machine.cores} cores, kernel ${machine.kernel}, load ${load.before} before and ${load.after} after, ${seconds} s`;
  const rows = [HEADS, HEADS.map(() => "---"), ...cellsOf(page)].map((cells) => `| ${cells.map(escaped).join(" | ")} |`);
  return [`${on}. The last column is what was needed of what is allowed: the promise holds up to 1.`, "", ...rows].join("\n");
}

const escaped = (cell: string): string => cell.replaceAll("|", "\\|").replaceAll("\n", " ");
