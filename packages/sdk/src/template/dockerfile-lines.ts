/** One instruction of a Dockerfile. */
export interface Instruction {
  /** Line of the file, from 1. */
  readonly line: number;
  /** In capitals. */
  readonly name: string;
  /** What follows the name, continued lines joined. */
  readonly rest: string;
  readonly heredocs: readonly Heredoc[];
}

export interface Heredoc {
  readonly word: string;
  readonly text: string;
}

/**
 * The instructions of a Dockerfile: comments and empty lines left out, continued lines joined, here-documents read
 * (docs.docker.com/reference/dockerfile, "Format", "Parser directives", "Here-Documents").
 */
export function instructionsOf(text: string): Instruction[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const escapeChar = escapeOf(lines);
  const found: Instruction[] = [];
  for (let i = 0; i < lines.length; i++) {
    const first = i;
    if (isNothing(lines[i])) continue;
    let joined = "";
    for (; i < lines.length; i++) {
      const line = lines[i] ?? "";
      // Comments and empty lines may stand between continued ones.
      if (i > first && isNothing(line)) continue;
      const continued = line.trimEnd().endsWith(escapeChar);
      joined += continued ? `${line.trimEnd().slice(0, -1)}` : line;
      if (!continued) break;
    }
    const [, name = "", rest = ""] = /^\s*(\S+)\s*([\s\S]*)$/.exec(joined) ?? [];
    const heredocs: Heredoc[] = [];
    for (const { word, stripTabs } of heredocWords(name, rest)) {
      const body: string[] = [];
      for (i++; i < lines.length; i++) {
        const line = stripTabs ? (lines[i] ?? "").replace(/^\t+/, "") : (lines[i] ?? "");
        if (line === word) break;
        body.push(`${line}\n`);
      }
      heredocs.push({ word, text: body.join("") });
    }
    found.push({ line: first + 1, name: name.toUpperCase(), rest: rest.trim(), heredocs });
  }
  return found;
}

const isNothing = (line = "") => line.trim() === "" || line.trimStart().startsWith("#");

/** The directive `# escape=` counts only before everything else. */
function escapeOf(lines: readonly string[]): string {
  for (const line of lines) {
    const directive = /^\s*#\s*(\w+)\s*=\s*(\S+)\s*$/.exec(line);
    if (!directive) break;
    if (directive[1]?.toLowerCase() === "escape") return directive[2] ?? "\\";
  }
  return "\\";
}

function heredocWords(name: string, rest: string): { word: string; stripTabs: boolean }[] {
  if (!/^(run|copy|add)$/i.test(name)) return [];
  return [...rest.matchAll(/<<(-?)(["']?)([A-Za-z_][\w.]*)\2/g)].map(([, dash, , word = ""]) => ({ word, stripTabs: dash === "-" }));
}

/** Words of an instruction, with quotes and escapes read as a shell does, and `$NAME` left alone. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (quote) {
      if (char === quote) quote = "";
      else if (char === "\\" && quote === '"' && /["\\$]/.test(text.charAt(i + 1))) word += text.charAt(++i);
      else word += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= "";
    } else if (char === "\\" && i + 1 < text.length) word = (word ?? "") + text.charAt(++i);
    else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + char;
  }
  if (word !== undefined) words.push(word);
  return words;
}

/** The list of the exec form; undefined when the text is in shell form. */
export function execForm(text: string): string[] | undefined {
  if (!text.startsWith("[")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;
  } catch {
    // Docker, too, takes what is no JSON as shell form.
    return undefined;
  }
}
