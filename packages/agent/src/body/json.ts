import { LIMITS } from "../limits.ts";

const DECODER = new TextDecoder("utf-8", { fatal: true });
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const BRACKET = 0x5b;
const BRACE = 0x7b;
const BRACKET_END = 0x5d;
const BRACE_END = 0x7d;

/**
 * Parses JSON in UTF-8. Throws for anything else, and for more values than a message can need: two bytes of text become an object of a hundred
 * bytes, so that a small body could fill the memory of the sandbox.
 */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length > LIMITS.jsonUncheckedBytes && isTooMuch(bytes)) throw new SyntaxError("too many values, or too deep");
  return JSON.parse(DECODER.decode(bytes));
}

/** Counts commas and opening brackets outside of strings. Strings are skipped by searching for their end: they are most of a large message. */
function isTooMuch(bytes: Uint8Array): boolean {
  let count = 0;
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) at = endOfText(bytes, at);
    else if (byte === COMMA) count++;
    else if (byte === BRACKET_END || byte === BRACE_END) depth--;
    else if (byte === BRACKET || byte === BRACE) {
      count++;
      depth++;
    } else continue;
    if (count > LIMITS.jsonValues || depth > LIMITS.jsonDepth) return true;
  }
  return false;
}

/** Index of the quote that ends the string which begins at `start`; the length of `bytes` where there is none. */
function endOfText(bytes: Uint8Array, start: number): number {
  for (let at = bytes.indexOf(QUOTE, start + 1); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    let escapes = 0;
    while (bytes[at - 1 - escapes] === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return bytes.length;
}
