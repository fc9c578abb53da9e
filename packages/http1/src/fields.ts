/** Kinds of field names, as bits. A head knows the kinds of its fields, which makes most searches for a name unnecessary. */
export const NOTABLE = {
  host: 1,
  length: 2,
  coding: 4,
  connection: 8,
  /** Marked by the user of this package. */
  marked: 16,
  /** Of one connection, of a proxy, or guarded: may not be forwarded. */
  local: 32,
} as const;

/**
 * Fields of one connection, which are not forwarded (RFC 9110, 7.6.1), and fields by which proxies describe themselves: the client's are dropped, and
 * none are added, because applications that are told about https in front of them fail in various ways.
 */
const LOCAL: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "transfer-encoding",
  "upgrade",
  "forwarded",
  "x-real-ip",
]);
const FORWARDED = "x-forwarded-";

/** Rules for fields that a user of this package sets. Names are in lower case. */
export interface FieldRules {
  /** Names of the kind `NOTABLE.marked`. */
  readonly marked?: RegExp;
  /** A field of this name is not forwarded when `isDropped` says so of its value. */
  readonly guarded?: { readonly name: string; isDropped(value: string): boolean };
}

/** A field's name in lower case, and its kinds (`NOTABLE`). */
export interface FieldName {
  readonly lower: string;
  readonly notable: number;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const MAX_KNOWN = 512;

/** Cache of field names, as sent: each is validated, converted to lower case and classified once. */
export class FieldNames {
  private readonly rules: FieldRules;
  private readonly known = new Map<string, FieldName>();

  constructor(rules: FieldRules = {}) {
    this.rules = rules;
  }

  /** The name of a field; undefined for text that is not a token. */
  find(text: string): FieldName | undefined {
    const found = this.known.get(text);
    if (found !== undefined) return found;
    if (!TOKEN.test(text)) return undefined;
    const lower = text.toLowerCase();
    const name = { lower, notable: this.notableOf(lower) };
    if (this.known.size < MAX_KNOWN && text.length <= 64) this.known.set(text, name);
    return name;
  }

  /** Whether a field is not forwarded, whatever Connection names. */
  isDropped(lower: string, value: () => string): boolean {
    if (LOCAL.has(lower) || lower.startsWith(FORWARDED)) return true;
    const { guarded } = this.rules;
    return guarded !== undefined && lower === guarded.name && guarded.isDropped(value());
  }

  private notableOf(lower: string): number {
    const { marked, guarded } = this.rules;
    let bits = LOCAL.has(lower) || lower.startsWith(FORWARDED) || lower === guarded?.name ? NOTABLE.local : 0;
    if (lower === "host") bits |= NOTABLE.host;
    if (lower === "content-length") bits |= NOTABLE.length;
    if (lower === "transfer-encoding") bits |= NOTABLE.coding;
    if (lower === "connection") bits |= NOTABLE.connection;
    if (marked?.test(lower)) bits |= NOTABLE.marked;
    return bits;
  }
}

/** Names without rules. */
export const PLAIN_NAMES = new FieldNames();

const NONE: string[] = [];
const isBlank = (code: number) => code === 0x20 || code === 0x09;

/** Header fields in their order, with look-up by lower-case name. Values are cut out of the head's text when they are read. */
export class Fields {
  readonly lower: string[] = [];
  readonly names: FieldNames;
  private readonly text: string;
  private readonly starts: number[] = [];
  private readonly colons: number[] = [];
  private readonly ends: number[] = [];
  private notable = 0;

  constructor(text: string, names: FieldNames) {
    this.text = text;
    this.names = names;
  }

  /** `start` to `end` is the field's line in the text, without its end. */
  add(name: FieldName, start: number, colon: number, end: number): void {
    this.lower.push(name.lower);
    this.starts.push(start);
    this.colons.push(colon);
    this.ends.push(end);
    this.notable |= name.notable;
  }

  get count(): number {
    return this.lower.length;
  }

  /** Whether some field is of this kind of `NOTABLE`. */
  has(kind: number): boolean {
    return (this.notable & kind) !== 0;
  }

  /** The field's value, without blanks around it. */
  value(index: number): string {
    const { text } = this;
    let first = (this.colons[index] ?? 0) + 1;
    let last = this.ends[index] ?? 0;
    while (first < last && isBlank(text.charCodeAt(first))) first += 1;
    while (last > first && isBlank(text.charCodeAt(last - 1))) last -= 1;
    return text.slice(first, last);
  }

  /** The lines of the fields from `from` to before `to`, as they were sent. */
  lines(from: number, to: number): string {
    return from < to ? `${this.text.slice(this.starts[from], this.ends[to - 1])}\r\n` : "";
  }

  /** The first value of `name` (lower case), if any. */
  get(name: string): string | undefined {
    const at = this.lower.indexOf(name);
    return at < 0 ? undefined : this.value(at);
  }

  /** All values of `name` (lower case), in order. */
  all(name: string): string[] {
    const first = this.lower.indexOf(name);
    if (first < 0) return NONE;
    const found = [this.value(first)];
    for (let i = first + 1; i < this.lower.length; i++) if (this.lower[i] === name) found.push(this.value(i));
    return found;
  }

  /** Members of a comma list, lower case, over all fields of that name. */
  list(name: string): readonly string[] {
    const all = this.all(name);
    if (all.length === 0) return NONE;
    return all
      .join(",")
      .split(",")
      .map((part) => part.trim().toLowerCase())
      .filter((part) => part !== "");
  }
}
