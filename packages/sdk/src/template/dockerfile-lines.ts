import { InvalidArgumentError } from "../errors.ts";

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
  /** False: its word was quoted, so no variable is put in. */
  readonly isExpanded: boolean;
}

export interface DockerfileLines {
  readonly instructions: readonly Instruction[];
  /** Character that continues lines and takes the meaning from others: `\`, or what the directive `escape` says. */
  readonly escapeChar: string;
}

/**
 * The instructions of a Dockerfile: comments and empty lines left out, continued lines joined, here-documents read
 * (docs.docker.com/reference/dockerfile, "Format", "Parser directives", "Here-Documents").
 *
 * @throws InvalidArgumentError, reason `dockerfile_invalid`, naming the line.
 */
export function instructionsOf(text: string): DockerfileLines {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const escapeChar = escapeOf(lines);
  const instructions: Instruction[] = [];
  for (let i = 0; i < lines.length; i++) {
    const first = i;
    if (isNothing(lines[i])) continue;
    const parts: string[] = [];
    for (; i < lines.length; i++) {
      const line = lines[i] ?? "";
      // Comments and empty lines may stand between continued ones.
      if (i > first && isNothing(line)) continue;
      const continued = line.trimEnd().endsWith(escapeChar);
      parts.push(continued ? line.trimEnd().slice(0, -1) : line);
      if (!continued) break;
    }
    const [, name = "", rest = ""] = /^\s*(\S+)\s*([\s\S]*)$/.exec(parts.join("")) ?? [];
    const { heredocs, last } = readHeredocs({ line: first + 1, name, rest }, lines, i);
    instructions.push({ line: first + 1, name: name.toUpperCase(), rest: rest.trim(), heredocs });
    i = last;
  }
  return { instructions, escapeChar };
}

/**
 * A trigger as an image keeps it: one instruction, and the lines of its here-documents behind it. `line` is where the image is named.
 *
 * @throws InvalidArgumentError, reason `dockerfile_invalid`, for a here-document without its end.
 */
export function triggerFrom(text: string, line: number): Instruction {
  const [first = "", ...body] = text.split(/\r?\n/);
  const { heredocs } = readHeredocs({ line, name: ONBUILD, rest: first }, [first, ...body], 0);
  return { line, name: ONBUILD, rest: heredocs.length > 0 ? first.trim() : text, heredocs };
}

/** A trigger in the form that images keep: `triggerFrom` reads it again. */
export const triggerText = ({ name, rest, heredocs }: Instruction): string =>
  [`${name} ${rest}`, ...heredocs.map(({ text, word }) => text + word)].join("\n");

/** The here-documents of an instruction whose own last line is `lines[last]`, and the index of their last line. */
function readHeredocs({ line, name, rest }: Omit<Instruction, "heredocs">, lines: readonly string[], last: number) {
  const heredocs: Heredoc[] = [];
  for (const { word, stripTabs, isExpanded } of heredocWords(name, rest)) {
    const end = bodyEnd(lines, last + 1, word, stripTabs);
    if (end < 0) throw invalid(line, name.toUpperCase(), `there is no line '${word}' that ends its here-document`);
    const body = lines.slice(last + 1, end).map((text) => `${stripTabs ? text.replace(/^\t+/, "") : text}\n`);
    heredocs.push({ word, text: body.join(""), isExpanded });
    last = end;
  }
  return { heredocs, last };
}

function bodyEnd(lines: readonly string[], from: number, word: string, stripTabs: boolean): number {
  for (let i = from; i < lines.length; i++) {
    const line = lines[i] ?? "";
    if ((stripTabs ? line.replace(/^\t+/, "") : line) === word) return i;
  }
  return -1;
}

const isNothing = (line = "") => line.trim() === "" || line.trimStart().startsWith("#");

/** Directives count only before everything else. */
function escapeOf(lines: readonly string[]): string {
  for (const [i, line] of lines.entries()) {
    const [, key = "", value = ""] = /^\s*#\s*([A-Za-z][\w-]*)\s*=\s*(.+?)\s*$/.exec(line) ?? [];
    if (key === "") break;
    if (key.toLowerCase() !== "escape") continue;
    if (value !== "\\" && value !== "`") throw invalid(i + 1, "escape", `it must be \\ or \`, not '${value.slice(0, 20)}'`);
    return value;
  }
  return "\\";
}

interface HeredocWord {
  readonly word: string;
  readonly stripTabs: boolean;
  readonly isExpanded: boolean;
}

const ONBUILD = "ONBUILD";
const HEREDOC = /^\d*<<(-?)(["']?)([^\s"'<>;|&()]+)\2/;

/** Here-documents that an instruction announces, where a word begins and outside of quotes. */
function heredocWords(name: string, rest: string): HeredocWord[] {
  const found: HeredocWord[] = [];
  const done = name.toUpperCase() === ONBUILD ? (/^\S+/.exec(rest.trimStart())?.[0] ?? "") : name;
  if (!/^(run|copy|add)$/i.test(done) || !rest.includes("<<")) return found;
  let quote = "";
  for (let i = 0; i < rest.length; i++) {
    const char = rest.charAt(i);
    if (quote !== "") {
      if (char === quote) quote = "";
    } else if (char === '"' || char === "'") quote = char;
    else if (i === 0 || /\s/.test(rest.charAt(i - 1))) {
      const [whole = "", dash = "", quoted = "", word = ""] = HEREDOC.exec(rest.slice(i, i + MAX_WORD)) ?? [];
      if (whole === "") continue;
      found.push({ word, stripTabs: dash === "-", isExpanded: quoted === "" });
      i += whole.length - 1;
    }
  }
  return found;
}

const MAX_WORD = 1000;

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

/** Takes the flags from the beginning of what follows an instruction's name. */
export function flagsOf({ rest }: Instruction): { flags: Map<string, string>; mounts: string[]; rest: string } {
  const flags = new Map<string, string>();
  const mounts: string[] = [];
  let text = rest;
  for (;;) {
    const [whole = "", name = "", value = ""] = /^--([a-z-]+)(?:=(\S*))?(?:\s+|$)/.exec(text) ?? [];
    if (whole === "") return { flags, mounts, rest: text };
    // The one flag that may be given several times.
    if (name === "mount") mounts.push(value);
    flags.set(name, value);
    text = text.slice(whole.length);
  }
}

/** An instruction in one line, as logs show it. */
export const shownText = ({ name, rest }: Instruction) => `${name} ${rest.replace(/\s+/g, " ")}`.slice(0, MAX_SHOWN);

const MAX_SHOWN = 2000;

/** What is wrong in a Dockerfile, with the line. */
export function invalid(line: number, name: string, what: string): InvalidArgumentError {
  return new InvalidArgumentError(`Dockerfile, line ${line} (${name}): ${what}`, {
    code: "invalid_argument",
    reason: "dockerfile_invalid",
  });
}

export const wrong = ({ line, name }: Instruction, what: string) => invalid(line, name, what);

/** What templates cannot do, with the line. */
export function unsupported({ line, name }: Instruction, what: string): InvalidArgumentError {
  const options = { code: "invalid_argument", reason: "dockerfile_unsupported" } as const;
  return new InvalidArgumentError(`Dockerfile, line ${line} (${name}): not supported: ${what}`, options);
}
