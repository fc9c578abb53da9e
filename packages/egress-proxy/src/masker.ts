/** What stands in an answer in place of a secret, however long that is. */
const MASK = Buffer.from("[masked]");
const NEWLINE = 10;
/** Shorter texts than this would be found by chance; only the value itself is looked for at any length. */
const LEAST_ENCODED = 6;
const EMPTY = Buffer.alloc(0);

/** Every form in which an answer may show one of the values, as bytes; longest first, so that a form within another one is not taken for it. */
export function formsOf(values: readonly string[]): readonly Buffer[] {
  const forms = new Set<string>();
  for (const value of values) {
    if (value === "") continue;
    const bytes = Buffer.from(value);
    forms.add(bytes.toString("latin1"));
    for (const encoded of encodedForms(value, bytes))
      if (encoded.length >= LEAST_ENCODED) forms.add(Buffer.from(encoded).toString("latin1"));
  }
  return [...forms].map((form) => Buffer.from(form, "latin1")).sort((a, b) => b.byteLength - a.byteLength);
}

function encodedForms(value: string, bytes: Buffer): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const percent = encodeURIComponent(value);
  const lower = percent.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase());
  const html = value.replace(/[&<>"']/g, (character) => HTML[character] ?? character);
  const hex = bytes.toString("hex");
  return [
    json,
    json.replaceAll("/", "\\/"),
    percent,
    lower,
    percent.replaceAll("%20", "+"),
    html,
    hex,
    hex.toUpperCase(),
    ...base64Forms(bytes),
  ];
}

const HTML: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** The characters of base64 that the bytes alone decide, wherever in an encoded text they begin. */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    const own = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.byteLength) * 8) / 6));
    return [own, own.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

/**
 * Replaces secrets in an answer that comes in pieces. What it lets through at once depends on the lengths of the forms and on line ends alone, never on
 * how far the bytes look like a secret: else a program inside could find a secret out piece by piece, by what it gets late. No form contains a line end,
 * so whole lines, and with them events of a stream, pass without waiting.
 */
export class Masker {
  private readonly forms: readonly Buffer[];
  private readonly longest: number;
  private held: Buffer = EMPTY;

  constructor(forms: readonly Buffer[]) {
    this.forms = forms;
    this.longest = forms[0]?.byteLength ?? 0;
  }

  /** The bytes that may pass now. */
  push(bytes: Buffer): Buffer {
    const all = this.held.byteLength === 0 ? bytes : Buffer.concat([this.held, bytes]);
    const safe = Math.max(all.lastIndexOf(NEWLINE) + 1, all.byteLength - Math.max(0, this.longest - 1), 0);
    return this.pass(all, safe);
  }

  /** The rest, at the end of the answer. */
  end(): Buffer {
    return this.pass(this.held, this.held.byteLength);
  }

  /** Passes the bytes before `safe`, and a secret that reaches beyond it; holds the rest. */
  private pass(all: Buffer, safe: number): Buffer {
    const parts: Buffer[] = [];
    let from = 0;
    for (let found = this.find(all, from); found && found.at < safe; found = this.find(all, from)) {
      parts.push(all.subarray(from, found.at), MASK);
      from = found.at + found.length;
    }
    const end = Math.max(from, safe);
    parts.push(all.subarray(from, end));
    // A copy: the socket's buffer is used again.
    this.held = Buffer.from(all.subarray(end));
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  }

  /** The first form from `from` on; of several that begin there, the longest. */
  private find(all: Buffer, from: number): { at: number; length: number } | undefined {
    let first: { at: number; length: number } | undefined;
    for (const form of this.forms) {
      const at = all.indexOf(form, from);
      if (at >= 0 && (!first || at < first.at)) first = { at, length: form.byteLength };
    }
    return first;
  }
}

/** A short text without the secrets: a line of a head. */
export function maskText(forms: readonly Buffer[], text: string): string {
  const masker = new Masker(forms);
  return Buffer.concat([masker.push(Buffer.from(text, "latin1")), masker.end()]).toString("latin1");
}
