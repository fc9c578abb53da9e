/** Checks that documents say what the code says. Pure functions of texts; `documents.test.ts` feeds them the real ones. */

/** Targets of a Markdown file's relative links. */
export function relativeLinks(markdown: string): string[] {
  return [...markdown.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g)].map((match) => match[1] ?? "");
}

/** The table of moves as ARCHITECTURE.md draws it. */
export function drawMoves(moves: Readonly<Record<string, readonly string[]>>): string {
  const width = Math.max(...Object.keys(moves).map((state) => state.length));
  return Object.entries(moves)
    .map(([state, next]) => `${state.padEnd(width)} → ${next.join(", ")}`.trimEnd())
    .join("\n");
}

/** What stands between two markers of a document, without a code fence around it. */
export function between(markdown: string, name: string): string {
  const found = new RegExp(`<!-- ${name} -->\\n\`\`\`\\n([\\s\\S]*?)\\n\`\`\`\\n<!-- /${name} -->`).exec(markdown);
  return found?.[1] ?? "";
}

/** Languages of a document's code blocks. Blocks of four backquotes hold a reference's types, which nobody runs. */
export function fencedLanguages(markdown: string): string[] {
  return [...markdown.matchAll(/^```(\w+)$/gm)].map((match) => match[1] ?? "");
}

/** Names in backquotes in the first column of every table. */
export function tableNames(markdown: string): string[] {
  const cells = [...markdown.matchAll(/^\| ([^|]*)\|/gm)].map((match) => match[1] ?? "");
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ""));
}

export interface TestReference {
  readonly file: string;
  /** Beginnings of test names, as the document gives them after the file. */
  readonly tests: readonly string[];
}

/** Tests that SECURITY.md names: `F \`x.test.ts\`: one; another` or with the whole path. */
export function testReferences(markdown: string, directory: string): TestReference[] {
  return [...markdown.matchAll(/(F )?`([\w/.-]+\.test\.ts)`(?:: ([^|`]+?))?(?=\s*(?:\||; (?:F )?`|; the suite))/g)].map((match) => ({
    file: match[1] ? `${directory}/${match[2]}` : (match[2] ?? ""),
    tests: (match[3] ?? "")
      .split(";")
      .map((name) => name.trim())
      .filter(Boolean),
  }));
}

/**
 * Documents that a text names (a path that ends in `.md`), each with the heading that stands behind it after a comma or in brackets, when there is one.
 * Names within a code block of Markdown count too: they are read as well.
 */
export function citations(text: string): { readonly file: string; readonly heading: string | undefined }[] {
  return [...text.matchAll(/(?<![\w/.-])((?:[\w.-]+\/)*[\w-]+\.md)(?:`?,\s(?:\*\s)?([A-Z][A-Za-z ]*[a-z]))?/g)].map((match) => ({
    file: match[1] ?? "",
    heading: match[2],
  }));
}

/** Headings of a Markdown document. */
export function headings(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map((match) => match[1] ?? "");
}
