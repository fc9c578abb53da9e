/*
 * Parameters of a header value: `form-data; name="file"; filename="a b.txt"` (RFC 2045, 2183, 5987).
 */

/** Characters that a backslash escapes inside quotes. Before any other it is a character itself, as in a Windows path. */
const SPECIAL = '()<>@,;:\\"/[]?=';

/** Matched in place: a copy of the rest for each parameter would take time in proportion to the square of the text. */
const NAME = /;\s*([^=;\s]*)\s*/y;

/** Every parameter by its lower-case name; the first of equal names wins, and `name*` (RFC 5987) wins over `name`. */
export function parseParameters(value: string): Record<string, string> {
  const plain: Record<string, string> = Object.create(null);
  const extended: Record<string, string> = Object.create(null);
  let at = value.indexOf(";");
  while (at >= 0 && at < value.length) {
    NAME.lastIndex = at;
    const [whole = ";", name = ""] = NAME.exec(value) ?? [];
    at += whole.length;
    if (value[at] !== "=") {
      at = value.indexOf(";", at);
      continue;
    }
    const read = readValue(value, at + 1);
    at = value.indexOf(";", read.end);
    keep(name.toLowerCase(), read.text, plain, extended);
  }
  return Object.assign(Object.create(null), plain, extended);
}

function keep(name: string, text: string, plain: Record<string, string>, extended: Record<string, string>): void {
  if (!name.endsWith("*")) plain[name] ??= text;
  else {
    const decoded = decodeExtended(text);
    if (decoded !== undefined) extended[name.slice(0, -1)] ??= decoded;
  }
}

function readValue(value: string, start: number): { readonly text: string; readonly end: number } {
  let at = start;
  while (value[at] === " " || value[at] === "\t") at++;
  if (value[at] !== '"') {
    const end = value.indexOf(";", at) < 0 ? value.length : value.indexOf(";", at);
    return { text: value.slice(at, end).trim(), end };
  }
  let text = "";
  for (at++; at < value.length && value[at] !== '"'; at++) {
    if (value[at] === "\\" && at + 1 < value.length && SPECIAL.includes(value[at + 1] ?? "")) at++;
    text += value[at];
  }
  return { text, end: at };
}

/** `UTF-8''a%20b`; undefined when it is not that. */
function decodeExtended(text: string): string | undefined {
  const [, charset, encoded] = /^([^']*)'[^']*'(.*)$/.exec(text) ?? [];
  if (charset?.toLowerCase() !== "utf-8" || encoded === undefined) return undefined;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}
