/**
 * The code of a TypeScript file with spaces in place of comments and, unless `keepStrings`, of strings. Line numbers stay the same. This is not a
 * parser: it can misread a regular expression literal that contains a quote, up to the end of the line.
 */
export function codeOf(source: string, options: { keepStrings: boolean }): string {
  const blank = (text: string) => text.replace(/[^\n]/g, " ");
  return source.replace(
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`|\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*(?=\s*[.,;)\]}:?]|\s*$)/gm,
    (token) => {
      if (token.startsWith("//") || token.startsWith("/*")) return blank(token);
      // A template with `${…}` contains code, so it is kept.
      if (options.keepStrings || (token.startsWith("`") && token.includes("${"))) return token;
      return blank(token);
    },
  );
}

export interface Import {
  readonly specifier: string;
  readonly line: number;
}

const FORMS = [
  /^[ \t]*(?:import|export)\b(?:[^"'`;()]*?)\bfrom\s*["']([^"'\n]+)["']/gm,
  /^[ \t]*import\s*["']([^"'\n]+)["']/gm,
  /\b(?:import|require)\s*\(\s*["']([^"'\n]+)["']/g,
];

/** Every module that a file names: imports, re-exports, type imports and `import("…")` calls. */
export function importsOf(source: string): Import[] {
  const code = codeOf(source, { keepStrings: true });
  return FORMS.flatMap((form) =>
    [...code.matchAll(form)].map((match) => ({ specifier: match[1] ?? "", line: lineAt(code, match.index + match[0].length) })),
  ).sort((a, b) => a.line - b.line);
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
