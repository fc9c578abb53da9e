/**
 * Reading and writing the head of an HTTP/1.1 message, strictly (RFC 9112). Both sides are hostile: a client may try to smuggle a request,
 * a sandbox may try to slip a second response into a connection that other sandboxes' answers use. So anything ambiguous is refused.
 */

/** Longest head, request or response. */
export const MAX_HEAD_BYTES = 64 << 10;
const MAX_FIELDS = 256;

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// A field value may hold tabs, but no other control character; a bare CR or LF in particular.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const BAD_VALUE = /[\x00-\x08\x0a-\x1f\x7f]/;
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

/** Header fields in their order, names as sent, with look-up by lower-case name. */
export class Fields {
  readonly names: string[] = [];
  readonly lower: string[] = [];
  readonly values: string[] = [];

  add(name: string, value: string): void {
    this.names.push(name);
    this.lower.push(name.toLowerCase());
    this.values.push(value);
  }

  /** The first value of `name` (lower case), if any. */
  get(name: string): string | undefined {
    const at = this.lower.indexOf(name);
    return at < 0 ? undefined : this.values[at];
  }

  all(name: string): string[] {
    const found: string[] = [];
    for (let i = 0; i < this.lower.length; i++) if (this.lower[i] === name) found.push(this.values[i] ?? "");
    return found;
  }

  /** Members of a comma list, lower case, over all fields of that name. */
  list(name: string): string[] {
    if (!this.lower.includes(name)) return [];
    return this.all(name)
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

function parseFields(lines: string[], bad: number): Fields {
  const fields = new Fields();
  if (lines.length - 1 > MAX_FIELDS) throw new HeadError(bad === 400 ? 431 : bad, "too many header fields");
  for (let i = 1; i < lines.length; i++) {
    const line = lines[i] ?? "";
    const colon = line.indexOf(":");
    const name = line.slice(0, colon);
    if (colon <= 0 || !TOKEN.test(name)) throw new HeadError(bad, "malformed header field");
    const value = line.slice(colon + 1).trim();
    if (BAD_VALUE.test(value)) throw new HeadError(bad, "control character in a header field");
    fields.add(name, value);
  }
  return fields;
}

function contentLength(fields: Fields, bad: number): number | undefined {
  const lengths = fields.all("content-length");
  if (lengths.length === 0) return undefined;
  if (lengths.length > 1 || !LENGTH.test(lengths[0] ?? "")) throw new HeadError(bad, "malformed Content-Length");
  return Number(lengths[0]);
}

/** Parses what stands before the empty line. Throws `HeadError`. */
export function parseRequestHead(text: string): RequestHead {
  const lines = text.split("\r\n");
  const start = REQUEST_LINE.exec(lines[0] ?? "");
  if (!start) throw new HeadError(400, "malformed request line");
  const fields = parseFields(lines, 400);
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
  const lines = text.split("\r\n");
  const start = STATUS_LINE.exec(lines[0] ?? "");
  const reason = start?.[3] ?? "";
  if (!start || BAD_VALUE.test(reason)) throw new HeadError(502, "malformed status line");
  const fields = parseFields(lines, 502);
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
