/**
 * Strict parser for the heads of HTTP/1 messages (RFC 9112). Both sides are hostile: a client may smuggle a request, a server may put a second answer
 * into a connection that other answers use. So every ambiguous message is refused.
 */

import { type FieldNames, Fields, NOTABLE, PLAIN_NAMES } from "./fields.ts";

/** Longest head, request or response. */
export const MAX_HEAD_BYTES = 64 << 10;
const MAX_FIELDS = 256;

/** No line of a head may hold a control character but tabs; nor a CR without its LF, or an LF without its CR. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const BAD_TEXT = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;
const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}) ([\x21-\x7e\x80-\xff]+) HTTP\/1\.([01])$/;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: (.*))?$/;
/** A host and a port (RFC 3986, 3.2.2), without user and path. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9\-._~!$&'()*+,;=%]*)(?::([0-9]{0,5}))?$/;
const LENGTH = /^[0-9]{1,15}$/;

/** A malformed message. `status`: HTTP status for the client. */
export class HeadError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
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
  /** The protocol of `Upgrade`, as sent; undefined unless Connection names it too. */
  readonly upgrade: string | undefined;
  /** Values made of this head, reused when the same head comes again (`HeadMemory`). `own` is for the user of this package. */
  readonly derived: { forwarded?: Uint8Array; own?: unknown };
  /** Values made of its fields alone, shared with heads that differ in the first line only. */
  readonly derivedOfFields: { forwarded?: string; own?: unknown };
}

export interface ResponseHead {
  readonly status: number;
  readonly reason: string;
  readonly minor: 0 | 1;
  readonly fields: Fields;
  readonly framing: Framing;
  readonly keepAlive: boolean;
  /** The head for a client whose connection is kept, reused when the same head comes again. */
  readonly derived: { forwarded?: Uint8Array };
}

/** Index just behind the empty line that ends a head, or -1. */
export function endOfHead(bytes: Buffer, from: number): number {
  const at = bytes.indexOf("\r\n\r\n", Math.max(0, from - 3), "latin1");
  return at < 0 ? -1 : at + 4;
}

/** The fields from `from` on; the text has been found free of stray control characters. */
function parseFields(text: string, from: number, bad: number, names: FieldNames): Fields {
  const fields = new Fields(text, names);
  let at = from;
  while (at < text.length) {
    const found = text.indexOf("\r\n", at);
    const end = found < 0 ? text.length : found;
    const colon = text.indexOf(":", at);
    const name = colon > at && colon < end ? names.find(text.slice(at, colon)) : undefined;
    if (name === undefined) throw new HeadError(bad, "malformed header field");
    if (fields.count === MAX_FIELDS) throw new HeadError(bad === 400 ? 431 : bad, "too many header fields");
    fields.add(name, at, colon, end);
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
  if (!fields.has(NOTABLE.length)) return undefined;
  const lengths = fields.all("content-length");
  if (lengths.length === 0) return undefined;
  if (lengths.length > 1 || !LENGTH.test(lengths[0] ?? "")) throw new HeadError(bad, "malformed Content-Length");
  return Number(lengths[0]);
}

interface RequestLine {
  readonly method: string;
  readonly target: string;
  readonly authority?: string;
  readonly minor: 0 | 1;
}

function parseRequestLine(line: string): RequestLine {
  const start = REQUEST_LINE.exec(line);
  if (!start) throw new HeadError(400, "malformed request line, or control characters");
  const method = start[1] ?? "";
  return { method, minor: start[3] === "1" ? 1 : 0, ...originForm(start[2] ?? "", method) };
}

/** Whether the client waits for 100 (Continue) before it sends the body (RFC 9110, 10.1.1). */
export function wantsContinue({ minor, framing, fields }: RequestHead): boolean {
  return minor === 1 && framing.kind !== "none" && fields.get("expect")?.toLowerCase() === "100-continue";
}

/** The head with this first line and the fields of `known`; undefined if the fields would have another meaning with it. Throws `HeadError`. */
export function withFieldsOf(known: RequestHead, line: string): RequestHead | undefined {
  const { method, target, authority, minor } = parseRequestLine(line);
  if (minor !== known.minor || authority !== undefined || known.host !== known.fields.get("host")) return undefined;
  return { ...known, method, target, derived: {} };
}

/** Parses the head of a request, without its empty line. Throws `HeadError` (400, 431, 501). */
export function parseRequestHead(text: string, names = PLAIN_NAMES): RequestHead {
  const { line, next } = firstLine(text);
  const { method, target, authority, minor } = parseRequestLine(line);
  if (BAD_TEXT.test(text)) throw new HeadError(400, "malformed request line, or control characters");
  const fields = parseFields(text, next, 400, names);
  const hosts = fields.all("host");
  if (hosts.length > 1 || (minor === 1 && hosts.length === 0)) throw new HeadError(400, "exactly one Host header is needed");
  const host = authority ?? hosts[0] ?? "";
  if (!isHost(host) || !isHost(hosts[0] ?? "")) throw new HeadError(400, "malformed Host");
  const connection = fields.has(NOTABLE.connection) ? fields.list("connection") : [];
  return {
    method,
    target,
    minor,
    fields,
    framing: requestFraming(fields, minor),
    host,
    keepAlive: minor === 1 && !connection.includes("close"),
    upgrade: minor === 1 && connection.includes("upgrade") ? fields.get("upgrade") : undefined,
    derived: {},
    derivedOfFields: {},
  };
}

function isHost(text: string): boolean {
  const found = HOST.exec(text);
  return found !== null && Number(found[1] ?? 0) <= 65535;
}

function originForm(raw: string, method: string): { target: string; authority?: string } {
  if (raw.startsWith("/")) return { target: raw };
  if (raw === "*" && method === "OPTIONS") return { target: raw };
  // Clients send the absolute form to forward proxies; its authority overrides Host (RFC 9112, 3.2.2).
  const absolute = /^https?:\/\/([^/?#]+)([\s\S]*)/i.exec(raw);
  if (!absolute) throw new HeadError(400, "malformed request target");
  const rest = absolute[2] ?? "";
  return { target: rest.startsWith("/") ? rest : `/${rest}`, authority: absolute[1] ?? "" };
}

function requestFraming(fields: Fields, minor: 0 | 1): Framing {
  const codings = fields.has(NOTABLE.coding) ? fields.all("transfer-encoding") : [];
  const length = contentLength(fields, 400);
  if (codings.length > 0) {
    if (length !== undefined || minor === 0) throw new HeadError(400, "Transfer-Encoding with Content-Length or HTTP/1.0");
    if (codings.length > 1 || codings[0]?.toLowerCase() !== "chunked")
      throw new HeadError(501, "the only supported transfer coding is chunked");
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
  const fields = parseFields(text, next, 502, PLAIN_NAMES);
  const minor = start[1] === "1" ? 1 : 0;
  const status = Number(start[2]);
  const connection = fields.has(NOTABLE.connection) ? fields.list("connection") : [];
  const framing = responseFraming(fields, status, method);
  const persistent = minor === 1 ? !connection.includes("close") : false;
  return { status, reason, minor, fields, framing, keepAlive: persistent && framing.kind !== "close", derived: {} };
}

function responseFraming(fields: Fields, status: number, method: string): Framing {
  const codings = fields.has(NOTABLE.coding) ? fields.all("transfer-encoding") : [];
  const length = contentLength(fields, 502);
  if (codings.length > 0 && (length !== undefined || codings.length > 1 || codings[0]?.toLowerCase() !== "chunked")) {
    throw new HeadError(502, "ambiguous length of a response");
  }
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return { kind: "none" };
  if (codings.length > 0) return { kind: "chunked" };
  if (length === undefined) return { kind: "close" };
  return length === 0 ? { kind: "none" } : { kind: "length", length };
}
