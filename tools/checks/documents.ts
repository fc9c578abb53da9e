/** Functions that read documents, to check that they match the code. `documents.test.ts` calls them with the real documents. */

/** Targets of a Markdown file's relative links. */
export function relativeLinks(markdown: string): string[] {
  return [...markdown.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g)].map((match) => match[1] ?? "");
}

/** The table of moves in the form of ARCHITECTURE.md. */
export function drawMoves(moves: Readonly<Record<string, readonly string[]>>): string {
  const width = Math.max(...Object.keys(moves).map((state) => state.length));
  return Object.entries(moves)
    .map(([state, next]) => `${state.padEnd(width)} → ${next.join(", ")}`.trimEnd())
    .join("\n");
}

/** The text between two markers of a document, without its code fence. */
export function between(markdown: string, name: string): string {
  const found = new RegExp(`<!-- ${name} -->\\n\`\`\`\\n([\\s\\S]*?)\\n\`\`\`\\n<!-- /${name} -->`).exec(markdown);
  return found?.[1] ?? "";
}

/** Languages of a document's code blocks. Blocks with four backquotes are not among them: they hold the types of a reference, which no test runs. */
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
  /** Beginnings of test names, which follow the file in the document. */
  readonly tests: readonly string[];
}

/** Tests that SECURITY.md names, in the form `F \`x.test.ts\`: one; another` or with the whole path. */
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
 * Documents that a text names (a path that ends in `.md`), each with the heading that follows after a comma, if there is one. Names in a code block
 * of Markdown are found too.
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
