/** Names that decide something; a head says at once which of them it has, so that most look-ups need none. */
export const NOTABLE = {
  host: 1,
  length: 2,
  coding: 4,
  connection: 8,
  routing: 16,
  /** Of one connection, or a proxy's: perhaps not handed on. */
  local: 32,
} as const;

/**
 * Fields that belong to one connection and are not handed on (RFC 9110, 7.6.1), and those by which proxies tell of themselves: inbound
 * ones are dropped and none are added, since applications that see hints of https break in more ways than one (server.md C.2).
 */
export const LOCAL: ReadonlySet<string> = new Set([
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
/** These need a look at what follows. */
const PERHAPS_LOCAL = /^x-(forwarded-|api-key$)/;
const ROUTING = /^(svc|e2b)-sandbox-(id|port)$/;

/** A field's name in lower case, and what it is of `NOTABLE`. */
export interface FieldName {
  readonly lower: string;
  readonly notable: number;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Names seen before, as sent: checked once, lowered once, and looked at once. */
const known = new Map<string, FieldName>();
const MAX_KNOWN = 512;

/** Undefined for what is no name. */
export function fieldName(text: string): FieldName | undefined {
  const found = known.get(text);
  if (found !== undefined) return found;
  if (!TOKEN.test(text)) return undefined;
  const lower = text.toLowerCase();
  const name = { lower, notable: notableOf(lower) };
  if (known.size < MAX_KNOWN && text.length <= 64) known.set(text, name);
  return name;
}

function notableOf(lower: string): number {
  let bits = LOCAL.has(lower) || PERHAPS_LOCAL.test(lower) ? NOTABLE.local : 0;
  if (lower === "host") bits |= NOTABLE.host;
  if (lower === "content-length") bits |= NOTABLE.length;
  if (lower === "transfer-encoding") bits |= NOTABLE.coding;
  if (lower === "connection") bits |= NOTABLE.connection;
  if (ROUTING.test(lower)) bits |= NOTABLE.routing;
  return bits;
}

const NONE: string[] = [];
const isBlank = (code: number) => code === 0x20 || code === 0x09;

/** Header fields in their order, with look-up by lower-case name. What they say is cut out of the head's text when it is asked for. */
export class Fields {
  readonly lower: string[] = [];
  private readonly text: string;
  private readonly starts: number[] = [];
  private readonly colons: number[] = [];
  private readonly ends: number[] = [];
  private notable = 0;

  constructor(text: string) {
    this.text = text;
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

  /** What the field says, without blanks around it. */
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
