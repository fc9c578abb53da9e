/** A table of text, as far as it is shown. */
export interface CsvTable {
  readonly rows: readonly (readonly string[])[];
  /** Cells of the widest row that is shown. */
  readonly width: number;
  /** The text goes on. */
  readonly isCut: boolean;
}

/** Larger tables are shown as far as this; the text has all of it. */
const MOST_ROWS = 10_000;
const MOST_CELLS = 60;
const LONGEST_CELL = 500;
const DELIMITERS = [",", ";", "\t", "|"] as const;

/** The character that separates the cells: by the name's ending, else the one that occurs most in the first line, outside of quotes. */
export function delimiterOf(name: string, text: string): string {
  if (/\.tsv$/i.test(name)) return "\t";
  const counts = new Map<string, number>(DELIMITERS.map((one) => [one, 0]));
  let isQuoted = false;
  for (const char of text.slice(0, 20_000)) {
    if (char === '"') isQuoted = !isQuoted;
    else if (!isQuoted && char === "\n") break;
    else if (!isQuoted && counts.has(char)) counts.set(char, (counts.get(char) ?? 0) + 1);
  }
  return [...counts].reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}

/** The rows of a text (RFC 4180), in one pass. A quote that does not end is read to the end of the text: nothing is an error. */
export function parseCsv(text: string, delimiter: string): CsvTable {
  const rows: string[][] = [];
  let row: string[] = [];
  let width = 0;
  let at = text.startsWith("\ufeff") ? 1 : 0;
  while (at < text.length && rows.length < MOST_ROWS) {
    const { cell, end } = cellAt(text, at, delimiter);
    if (row.length < MOST_CELLS) row.push(cell);
    at = end;
    if (text[at] === delimiter) {
      at += 1;
      // A row that ends with the delimiter has an empty cell behind it.
      if (at < text.length && text[at] !== "\n" && text[at] !== "\r") continue;
      if (row.length < MOST_CELLS) row.push("");
    }
    if (text[at] === "\r") at += 1;
    if (text[at] === "\n") at += 1;
    rows.push(row);
    width = Math.max(width, row.length);
    row = [];
  }
  return { rows, width, isCut: at < text.length };
}

/** A cell and the place of what ends it: a delimiter, the end of a line, or the end of the text. */
function cellAt(text: string, start: number, delimiter: string): { readonly cell: string; readonly end: number } {
  let quoted = "";
  let at = start;
  if (text[at] === '"') {
    at += 1;
    for (;;) {
      const quote = text.indexOf('"', at);
      const end = quote < 0 ? text.length : quote;
      quoted += text.slice(at, Math.min(end, at + LONGEST_CELL + 1));
      at = quote < 0 ? end : end + 1;
      if (quote < 0 || text[at] !== '"') break;
      quoted += '"';
      at += 1;
    }
  }
  const from = at;
  while (at < text.length && text[at] !== delimiter && text[at] !== "\n" && text[at] !== "\r") at += 1;
  const cell = quoted + text.slice(from, Math.min(at, from + LONGEST_CELL + 1));
  return { cell: cell.length > LONGEST_CELL ? `${cell.slice(0, LONGEST_CELL)}…` : cell, end: at };
}
