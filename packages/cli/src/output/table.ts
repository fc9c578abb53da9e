/** Width of a text on a terminal: characters, without colour codes. */
function width(text: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with one.
  return [...text.replace(/\x1b\[\d+m/g, "")].length;
}

/** Rows as aligned columns, two spaces apart; the first row is the head. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, width(cell));
  }
  const pad = (cell: string, i: number, last: boolean) => (last ? cell : cell + " ".repeat((widths[i] ?? 0) - width(cell)));
  return rows.map((row) => row.map((cell, i) => pad(cell, i, i === row.length - 1)).join("  ")).join("\n");
}
