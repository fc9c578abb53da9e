/** Variables that are set at one place of a file. */
export interface Variables {
  /** Values that the file itself determines. */
  readonly known: ReadonlyMap<string, string>;
  /** Texts that refer to variables of the image: the server makes the values of them. */
  readonly deferred: ReadonlyMap<string, string>;
}

/** A word of a Dockerfile that cannot be read. */
export class WordError extends Error {}

/** A piece of a text: as it is, or a reference to a variable that only the server knows. */
type Piece = { readonly text: string } | { readonly reference: string };

/** Refers to a variable that is never set, with the default `$`: so a literal `$` survives the server's replacement of variables. */
const DOLLAR = "$" + "{BOXYARD_NOTHING:-$}";

/** Cuts a text where words end, outside of quotes; the words keep their quotes. */
export function splitWords(text: string, escapeChar: string): string[] {
  const words: string[] = [];
  let start = -1;
  let quote = "";
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (quote === "" && /\s/.test(char)) {
      if (start >= 0) words.push(text.slice(start, i));
      start = -1;
      continue;
    }
    if (start < 0) start = i;
    if (char === escapeChar && quote !== "'") i++;
    else if (quote !== "") quote = char === quote ? "" : quote;
    else if (char === '"' || char === "'") quote = char;
  }
  if (start >= 0) words.push(text.slice(start));
  return words;
}

/** Reads one word: quotes and escapes are removed, `$NAME` and `${NAME…}` are replaced. */
export class WordReader {
  private readonly variables: Variables;
  private readonly escapeChar: string;

  constructor(variables: Variables, escapeChar: string) {
    this.variables = variables;
    this.escapeChar = escapeChar;
  }

  /** The text with the variables that this file knows; others are left to the server, which knows the image's. */
  forServer(word: string): string {
    return render(this.read(word));
  }

  /** The text, if this file alone says what it is. Throws `WordError` that names the variable it would need. */
  here(word: string): string {
    return plain(this.read(word), (reference) => {
      throw new WordError(`${reference} is not set in this file; names of files and images cannot use the image's own variables`);
    });
  }

  /** The value, if this file alone says what it is. */
  known(word: string): string | undefined {
    const pieces = this.read(word);
    return pieces.every((piece) => "text" in piece) ? plain(pieces, () => "") : undefined;
  }

  /** The value of a text that is not a word, such as a here-document: quotes have no meaning there. */
  inText(text: string): string {
    return plain(new Scan(text, this.variables, this.escapeChar).pieces(true), () => "");
  }

  private read(word: string): Piece[] {
    return new Scan(word, this.variables, this.escapeChar).pieces(false);
  }
}

/** A text in which the server replaces nothing. */
export const literal = (text: string): string => render([{ text }]);

function plain(pieces: readonly Piece[], unknown: (reference: string) => string): string {
  return pieces.map((piece) => ("text" in piece ? piece.text : unknown(piece.reference))).join("");
}

function render(pieces: readonly Piece[]): string {
  const shown = pieces.map((piece, i) => {
    if ("reference" in piece) return piece.reference;
    const isLast = i === pieces.length - 1;
    return piece.text.replace(isLast ? /\$(?=[A-Za-z_{])/g : /\$(?=[A-Za-z_{]|$)/g, () => DOLLAR);
  });
  return shown.join("");
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*/;

/** One pass over a word (docs.docker.com/reference/dockerfile, "Environment replacement"). */
class Scan {
  private readonly source: string;
  private readonly variables: Variables;
  private readonly escapeChar: string;
  private at = 0;
  private readonly found: Piece[] = [];
  private literal = "";

  constructor(source: string, variables: Variables, escapeChar: string) {
    this.source = source;
    this.variables = variables;
    this.escapeChar = escapeChar;
  }

  pieces(quotesAreText: boolean): Piece[] {
    while (this.at < this.source.length) {
      const char = this.source.charAt(this.at);
      if (char === "$") this.dollar();
      else if (char === this.escapeChar) this.escaped(quotesAreText);
      else if (!quotesAreText && char === "'") this.singleQuoted();
      else if (!quotesAreText && char === '"') this.doubleQuoted();
      else this.take(char);
    }
    this.flush();
    return this.found;
  }

  private take(char: string): void {
    this.literal += char;
    this.at++;
  }

  private escaped(onlyDollar: boolean): void {
    const next = this.source.charAt(this.at + 1);
    const counts = next !== "" && (!onlyDollar || next === "$" || next === this.escapeChar);
    if (counts) this.at++;
    this.take(this.source.charAt(this.at));
  }

  private singleQuoted(): void {
    const end = this.source.indexOf("'", this.at + 1);
    if (end < 0) throw new WordError("a ' is not closed");
    this.literal += this.source.slice(this.at + 1, end);
    this.at = end + 1;
  }

  private doubleQuoted(): void {
    this.at++;
    for (;;) {
      const char = this.source.charAt(this.at);
      if (char === "") throw new WordError('a " is not closed');
      if (char === '"') break;
      if (char === "$") this.dollar();
      else if (char === this.escapeChar) {
        if (['"', "$", this.escapeChar].includes(this.source.charAt(this.at + 1))) this.at++;
        this.take(this.source.charAt(this.at));
      } else this.take(char);
    }
    this.at++;
  }

  private dollar(): void {
    this.at++;
    if (this.source.charAt(this.at) === "{") this.braced();
    else this.unbraced();
  }

  private unbraced(): void {
    const [name = ""] = NAME.exec(this.source.slice(this.at, this.at + MAX_NAME)) ?? [];
    if (name === "") {
      this.literal += "$";
      return;
    }
    this.at += name.length;
    this.value(name);
  }

  private value(name: string): void {
    const value = this.variables.known.get(name);
    if (value === undefined) this.refer(this.variables.deferred.get(name) ?? `$\{${name}}`);
    else this.literal += value;
  }

  private braced(): void {
    const end = closing(this.source, this.at);
    const inside = this.source.slice(this.at + 1, end);
    const [name = ""] = NAME.exec(inside) ?? [];
    if (end < 0 || name === "") throw new WordError(`'$${this.source.slice(this.at, this.at + 40)}' is not a reference to a variable`);
    this.at = end + 1;
    const modifier = inside.slice(name.length);
    const value = this.variables.known.get(name);
    const word = /^:?[-+?]/.exec(modifier)?.[0] ?? "";
    if (modifier !== "" && this.variables.deferred.has(name))
      throw new WordError(`the value of ${name} depends on the image, so only $${name} as a whole works`);
    if (modifier === "") this.value(name);
    else if (word !== "") this.withWord(name, value, word, modifier.slice(word.length));
    else this.trimmed(name, value, modifier);
  }

  /** `-`, `+` and `?`, with a colon where an empty value counts as none. */
  private withWord(name: string, value: string | undefined, operator: string, word: string): void {
    const isSet = operator.startsWith(":") ? Boolean(value) : value !== undefined;
    const inner = () => new Scan(word, this.variables, this.escapeChar).pieces(false);
    const kind = operator.at(-1);
    if (value === undefined && kind !== "?") {
      const text = plain(inner(), () => "{");
      if (/[{}]/.test(text)) throw new WordError(`the alternative value of ${name} must be known in this file`);
      this.refer(`$\{${name}:${kind}${text}}`);
    } else if (kind === "?") {
      if (value === undefined) throw new WordError(`${name}: ${plain(inner(), () => "") || "is not set in this file"}`);
      if (!isSet) throw new WordError(`${name}: ${plain(inner(), () => "") || "is empty"}`);
      this.literal += value;
    } else if (kind === "-" && isSet) this.literal += value;
    else if ((kind === "-") !== isSet) this.append(inner());
  }

  /** `#`, `##`, `%`, `%%` remove a pattern, `/` and `//` replace it. */
  private trimmed(name: string, value: string | undefined, modifier: string): void {
    const [, operator = "", pattern = "", by = ""] =
      /^(##?|%%?)([\s\S]*)$/.exec(modifier) ?? /^(\/\/?)([^/]*)\/?([\s\S]*)$/.exec(modifier) ?? [];
    if (operator === "") throw new WordError(`'$\{${name}${modifier.slice(0, 40)}}' is not a reference to a variable`);
    if (value === undefined) throw new WordError(`${name} is not set in this file, so nothing can be taken from it`);
    if (value.length > MAX_TRIMMED) throw new WordError(`the value of ${name} is too long to take anything from it`);
    const text = plain(new Scan(by, this.variables, this.escapeChar).pieces(false), () => "");
    this.literal += operator.startsWith("/") ? replaced(value, pattern, text, operator === "//") : cut(value, pattern, operator);
  }

  private append(pieces: readonly Piece[]): void {
    for (const piece of pieces) {
      if ("text" in piece) this.literal += piece.text;
      else this.refer(piece.reference);
    }
  }

  private refer(reference: string): void {
    this.flush();
    this.found.push({ reference });
  }

  private flush(): void {
    if (this.literal !== "") this.found.push({ text: this.literal });
    this.literal = "";
  }
}

const MAX_NAME = 1000;
/** Patterns with many stars take long on long values. */
const MAX_TRIMMED = 256;

/** Where the brace that opens at `from` is closed, others inside counted; -1 if nowhere. */
function closing(text: string, from: number): number {
  let depth = 0;
  for (let i = from; i < text.length; i++) {
    if (text.charAt(i) === "{") depth++;
    else if (text.charAt(i) === "}" && --depth === 0) return i;
  }
  return -1;
}

/** Whether a pattern, in which `*` and `?` match anything, matches a whole text. */
function matches(pattern: string, text: string): boolean {
  let [at, place, star, from] = [0, 0, -1, 0];
  while (place < text.length) {
    if (pattern.charAt(at) === "*") [star, from] = [at++, place];
    else if (at < pattern.length && (pattern.charAt(at) === "?" || pattern.charAt(at) === text.charAt(place)))
      [at, place] = [at + 1, place + 1];
    // What the last star stands for is longer than it seemed.
    else if (star >= 0) [at, place] = [star + 1, ++from];
    else return false;
  }
  return /^\**$/.test(pattern.slice(at));
}

const upTo = (count: number) => Array.from({ length: count + 1 }, (_, i) => i);

/** `#` and `##` remove the shortest and longest beginning that a pattern matches, `%` and `%%` the end. */
function cut(value: string, pattern: string, operator: string): string {
  const isLongest = operator.length === 2;
  const places = upTo(value.length);
  if (operator.startsWith("#")) {
    const end = (isLongest ? places.reverse() : places).find((at) => matches(pattern, value.slice(0, at)));
    return value.slice(end ?? 0);
  }
  const start = (isLongest ? places : places.reverse()).find((at) => matches(pattern, value.slice(at)));
  return value.slice(0, start ?? value.length);
}

/** Replaces the longest match of a pattern, the first or every one. */
function replaced(value: string, pattern: string, by: string, isAlways: boolean): string {
  let done = "";
  for (let at = 0; at < value.length; ) {
    const length = upTo(value.length - at)
      .reverse()
      .find((count) => count > 0 && matches(pattern, value.slice(at, at + count)));
    if (length !== undefined && !isAlways) return done + by + value.slice(at + length);
    done += length === undefined ? value.charAt(at) : by;
    at += length ?? 1;
  }
  return done;
}
