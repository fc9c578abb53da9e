export interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  /** Names in lower case. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Longer headers, which no registry needs, are not parsed. */
const MAX_HEADER_CHARACTERS = 16 * 1024;
const ANSWERABLE: ReadonlySet<string> = new Set(["bearer", "basic"]);

const TOKEN_CHARACTER = /[A-Za-z0-9!#$%&'*+.^_`|~-]/;
const BLANK = /[ \t]/;
const SEPARATOR = /[ \t,]/;

/**
 * The first challenge of a `WWW-Authenticate` header (RFC 9110, 11.6.1) with the scheme Bearer or Basic; undefined if there is none, or the header
 * is too long. The header may come from a hostile registry, so it is parsed in one pass, character by character.
 */
export function parseChallenge(header: string): Challenge | undefined {
  if (header.length > MAX_HEADER_CHARACTERS) return undefined;
  return new ChallengeReader(header).challenges().find(({ scheme }) => ANSWERABLE.has(scheme));
}

class ChallengeReader {
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** `Scheme name=value, name="value", Scheme …`: a word is a parameter if `=` follows it, else the next scheme. */
  challenges(): Challenge[] {
    const found: { scheme: string; parameters: Record<string, string> }[] = [];
    while (this.at < this.text.length) {
      this.while(SEPARATOR);
      const word = this.while(TOKEN_CHARACTER).toLowerCase();
      this.while(BLANK);
      const current = found.at(-1);
      // A character that may stand nowhere in a header is skipped.
      if (word === "") this.at += 1;
      else if (this.text[this.at] !== "=") found.push({ scheme: word, parameters: Object.create(null) as Record<string, string> });
      else {
        this.at += 1;
        this.while(BLANK);
        const value = this.value();
        if (current) current.parameters[word] ??= value;
      }
    }
    return found;
  }

  private value(): string {
    if (this.text[this.at] !== '"') return this.while(/[^\s",]/);
    let value = "";
    for (this.at += 1; this.at < this.text.length; this.at += 1) {
      const character = this.text[this.at] as string;
      if (character === '"') break;
      if (character === "\\") this.at += 1;
      value += this.text[this.at] ?? "";
    }
    this.at += 1;
    return value;
  }

  private while(allowed: RegExp): string {
    const start = this.at;
    while (this.at < this.text.length && allowed.test(this.text[this.at] as string)) this.at += 1;
    return this.text.slice(start, this.at);
  }
}
