/**
 * `docs/skips.md` lists every test that may be skipped, with the reason: rows of a table, `| test | where | reason |`. The first cell is
 * part of a test's full name in backquotes; a test that is skipped and not listed is a failure on a CI machine.
 */
export interface AllowedSkip {
  readonly test: string;
  readonly where: string;
  readonly reason: string;
}

export function parseSkips(markdown: string): AllowedSkip[] {
  const rows: AllowedSkip[] = [];
  for (const line of markdown.split("\n")) {
    const cells = /^\|\s*`([^`]+)`\s*\|([^|]*)\|([^|]*)\|\s*$/.exec(line);
    if (cells) rows.push({ test: cells[1] ?? "", where: cells[2]?.trim() ?? "", reason: cells[3]?.trim() ?? "" });
  }
  return rows;
}

export function reasonFor(test: string, allowed: readonly AllowedSkip[]): string | undefined {
  return allowed.find((row) => test.includes(row.test))?.reason;
}
