/**
 * Reading and writing the head of an HTTP/1.1 message, strictly (RFC 9112). Both sides are hostile: a client may try to smuggle a request,
 * a sandbox may try to slip a second response into a connection that other sandboxes' answers use. So anything ambiguous is refused.
 */

/** Longest head, request or response. */
export const MAX_HEAD_BYTES = 64 << 10;
const MAX_FIELDS = 256;

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** No line of a head may hold a control character but tabs; nor a CR without its LF, or an LF without its CR. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const BAD_TEXT = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;
const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}) ([\x21-\x7e\x80-\xff]+) HTTP\/1\.([01])$/;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: (.*))?$/;
const LENGTH = /^[0-9]{1,15}$/;

/** A message that cannot be understood; `status` is what a client is told. */
export class HeadError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const NONE: string[] = [];

/** Header fields in their order, with look-up by lower-case name. */
export class Fields {
  readonly lower: string[] = [];
  readonly values: string[] = [];
  /** Each field's line as it was sent, without its end. */
  readonly lines: string[] = [];

  add(lower: string, value: string, line: string): void {
    this.lower.push(lower);
    this.values.push(value);
    this.lines.push(line);
  }

  /** The first value of `name` (lower case), if any. */
  get(name: string): string | undefined {
    const at = this.lower.indexOf(name);
    return at < 0 ? undefined : this.values[at];
  }

  all(name: string): string[] {
    const first = this.lower.indexOf(name);
    if (first < 0) return NONE;
    const found = [this.values[first] ?? ""];
    for (let i = first + 1; i < this.lower.length; i++) if (this.lower[i] === name) found.push(this.values[i] ?? "");
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

/** How many bytes of body follow a head. */
export type Framing = { readonly kind: "none" | "chunked" | "close" } | { readonly kind: "length"; readonly length: number };

export interface RequestHead {
  readonly method: string;
  /** The target as sent: never decoded, never collapsed. */
  readonly target: string;
  readonly minor: 0 | 1;
  readonly fields: Fields;
  readonly framing: Framing;
  readonly host: string;
  readonly keepAlive: boolean;
  /** The protocol asked for by `Upgrade`, as sent. */
  readonly upgrade: string | undefined;
}

export interface ResponseHead {
  readonly status: number;
  readonly reason: string;
  readonly minor: 0 | 1;
  readonly fields: Fields;
  readonly framing: Framing;
  readonly keepAlive: boolean;
}

/** Index just behind the empty line that ends a head, or -1. */
export function endOfHead(bytes: Buffer, from: number): number {
  const at = bytes.indexOf("\r\n\r\n", Math.max(0, from - 3), "latin1");
  return at < 0 ? -1 : at + 4;
}

/** Names seen before, as sent, with their lower-case form: checked once, and lowered once. */
const knownNames = new Map<string, string>();
const MAX_KNOWN_NAMES = 512;

function lowerName(name: string): string | undefined {
  const known = knownNames.get(name);
  if (known !== undefined) return known;
  if (!TOKEN.test(name)) return undefined;
  const lower = name.toLowerCase();
  if (knownNames.size < MAX_KNOWN_NAMES && name.length <= 64) knownNames.set(name, lower);
  return lower;
}

const isBlank = (code: number) => code === 0x20 || code === 0x09;

/** The fields from `from` on; the text has been found free of stray control characters. */
function parseFields(text: string, from: number, bad: number): Fields {
  const fields = new Fields();
  let at = from;
  while (at < text.length) {
    const found = text.indexOf("\r\n", at);
    const end = found < 0 ? text.length : found;
    const colon = text.indexOf(":", at);
    const lower = colon > at && colon < end ? lowerName(text.slice(at, colon)) : undefined;
    if (lower === undefined) throw new HeadError(bad, "malformed header field");
    if (fields.lower.length === MAX_FIELDS) throw new HeadError(bad === 400 ? 431 : bad, "too many header fields");
    let first = colon + 1;
    let last = end;
    while (first < last && isBlank(text.charCodeAt(first))) first += 1;
    while (last > first && isBlank(text.charCodeAt(last - 1))) last -= 1;
    fields.add(lower, text.slice(first, last), text.slice(at, end));
    at = end + 2;
  }
  return fields;
}

/** The first line, and where the next one begins. */
function firstLine(text: string): { line: string; next: number } {
  const end = text.indexOf("\r\n");
  return end < 0 ? { line: text, next: text.length } : { line: text.slice(0, end), next: end + 2 };
}

function contentLength(fields: Fields, bad: number): number | undefined {
  const lengths = fields.all("content-length");
  if (lengths.length === 0) return undefined;
  if (lengths.length > 1 || !LENGTH.test(lengths[0] ?? "")) throw new HeadError(bad, "malformed Content-Length");
  return Number(lengths[0]);
}

/** Parses what stands before the empty line. Throws `HeadError`. */
export function parseRequestHead(text: string): RequestHead {
  const { line, next } = firstLine(text);
  const start = REQUEST_LINE.exec(line);
  if (!start || BAD_TEXT.test(text)) throw new HeadError(400, "malformed request line, or control characters");
  const fields = parseFields(text, next, 400);
  const minor = start[3] === "1" ? 1 : 0;
  const method = start[1] ?? "";
  const { target, authority } = originForm(start[2] ?? "", method);
  const hosts = fields.all("host");
  if (hosts.length > 1 || (minor === 1 && hosts.length === 0)) throw new HeadError(400, "exactly one Host header is needed");
  const connection = fields.list("connection");
  return {
    method,
    target,
    minor,
    fields,
    framing: requestFraming(fields, minor),
    host: authority ?? hosts[0] ?? "",
    keepAlive: minor === 1 && !connection.includes("close"),
    upgrade: minor === 1 && connection.includes("upgrade") ? fields.get("upgrade") : undefined,
  };
}

function originForm(raw: string, method: string): { target: string; authority?: string } {
  if (raw.startsWith("/")) return { target: raw };
  if (raw === "*" && method === "OPTIONS") return { target: raw };
  // A client that takes us for a forward proxy sends the absolute form; its authority then counts instead of Host (RFC 9112, 3.2.2).
  const absolute = /^https?:\/\/([^/?#]+)(.*)$/i.exec(raw);
  if (!absolute) throw new HeadError(400, "malformed request target");
  const rest = absolute[2] ?? "";
  return { target: rest.startsWith("/") ? rest : `/${rest}`, authority: absolute[1] ?? "" };
}

function requestFraming(fields: Fields, minor: 0 | 1): Framing {
  const codings = fields.all("transfer-encoding");
  const length = contentLength(fields, 400);
  if (codings.length > 0) {
    if (length !== undefined || minor === 0) throw new HeadError(400, "Transfer-Encoding with Content-Length or HTTP/1.0");
    if (codings.length > 1 || codings[0]?.toLowerCase() !== "chunked")
      throw new HeadError(501, "only the chunked transfer coding is known");
    return { kind: "chunked" };
  }
  return length === undefined || length === 0 ? { kind: "none" } : { kind: "length", length };
}

/** Parses the head of an answer to a `method` request. Throws `HeadError` (502). */
export function parseResponseHead(text: string, method: string): ResponseHead {
  const { line, next } = firstLine(text);
  const start = STATUS_LINE.exec(line);
  const reason = start?.[3] ?? "";
  if (!start || BAD_TEXT.test(text)) throw new HeadError(502, "malformed status line, or control characters");
  const fields = parseFields(text, next, 502);
  const minor = start[1] === "1" ? 1 : 0;
  const status = Number(start[2]);
  const connection = fields.list("connection");
  const framing = responseFraming(fields, status, method);
  const persistent = minor === 1 ? !connection.includes("close") : false;
  return { status, reason, minor, fields, framing, keepAlive: persistent && framing.kind !== "close" };
}

function responseFraming(fields: Fields, status: number, method: string): Framing {
  const codings = fields.all("transfer-encoding");
  const length = contentLength(fields, 502);
  if (codings.length > 0 && (length !== undefined || codings.length > 1 || codings[0]?.toLowerCase() !== "chunked")) {
    throw new HeadError(502, "ambiguous length of a response");
  }
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return { kind: "none" };
  if (codings.length > 0) return { kind: "chunked" };
  if (length === undefined) return { kind: "close" };
  return length === 0 ? { kind: "none" } : { kind: "length", length };
}
