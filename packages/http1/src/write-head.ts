import { type Fields, NOTABLE } from "./fields.ts";
import type { RequestHead, ResponseHead } from "./head.ts";

function isDropped(fields: Fields, index: number, named: readonly string[]): boolean {
  const lower = fields.lower[index] as string;
  return (named.length > 0 && named.includes(lower)) || fields.names.isDropped(lower, () => fields.value(index));
}

/** The lines of the fields that are forwarded, as they were sent. */
function copy(fields: Fields, named: readonly string[], edit?: ResponseEdit): string {
  if (!fields.has(NOTABLE.local) && named.length === 0 && !edit) return fields.lines(0, fields.count);
  let text = "";
  let from = 0;
  for (let i = 0; i < fields.count; i++) {
    if (!isDropped(fields, i, named) && (!edit || edit.keeps(fields.lower[i] as string))) continue;
    text += fields.lines(from, i);
    from = i + 1;
  }
  return text + fields.lines(from, fields.count);
}

/** Fields that are forwarded although Connection names them: they frame the message or say for which host and of which type it is. */
const NEVER_DROPPED = new Set(["host", "content-length", "content-type"]);
const namedIn = (fields: Fields): readonly string[] => {
  if (!fields.has(NOTABLE.connection)) return [];
  const named = fields.list("connection");
  return named.length === 0 ? named : named.filter((name) => !NEVER_DROPPED.has(name));
};

/** Replaces a request's Host. `original` is sent to the next server as X-Forwarded-Host. */
export interface OtherHost {
  readonly host: string;
  readonly original?: string;
}

/**
 * The head of a request for the next server: target, Host and all end-to-end fields unchanged, without the fields in `drops` (lower case), and with
 * the lines in `added`, each with its line end.
 */
export function forwardedRequest(request: RequestHead, other?: OtherHost, drops: readonly string[] = [], added = ""): Uint8Array {
  let fields = drops.length === 0 && added === "" ? rememberedFields(request) : forwardedFields(request, drops, added);
  if (other !== undefined) {
    const line = `Host: ${other.host}${other.original === undefined ? "" : `\r\nX-Forwarded-Host: ${other.original}`}`;
    fields = fields.replace(/(^|\n)host:[^\r]*/i, (_all, start: string) => start + line);
  }
  return Buffer.from(`${request.method} ${request.target} HTTP/1.${request.minor}\r\n${fields}`, "latin1");
}

function rememberedFields(request: RequestHead): string {
  const { derivedOfFields } = request;
  derivedOfFields.forwarded ??= forwardedFields(request, []);
  return derivedOfFields.forwarded;
}

/** Everything behind the first line. */
function forwardedFields({ fields, framing, upgrade, minor }: RequestHead, drops: readonly string[], added = ""): string {
  let text = copy(fields, [...namedIn(fields), ...drops]) + added;
  if (framing.kind === "chunked") text += "Transfer-Encoding: chunked\r\n";
  if (upgrade !== undefined) text += `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n`;
  else if (minor === 0) text += "Connection: close\r\n";
  return `${text}\r\n`;
}

/** Changes that a user of this package makes to a forwarded answer. */
export interface ResponseEdit {
  /** Whether a field of this name (lower case) is forwarded. */
  keeps(name: string): boolean;
  /** Field lines to add, each with its line end. */
  added(fields: Fields): string;
}

export interface ResponseForm {
  /** The connection ends with this answer. */
  readonly close?: boolean;
  /** The body is sent without the chunked coding, for a client of HTTP/1.0. */
  readonly unchunked?: boolean;
  readonly edit?: ResponseEdit | undefined;
}

/** The head of an answer for the client. */
export function forwardedResponse(response: ResponseHead, { close, unchunked, edit }: ResponseForm = {}): Uint8Array {
  const { status, fields } = response;
  let text = `HTTP/1.1 ${status} ${response.reason}\r\n`;
  const dropped = namedIn(fields);
  text += copy(fields, isBodyless(status) ? [...dropped, "content-length"] : dropped, edit);
  if (edit) text += edit.added(fields);
  if (!unchunked && (response.framing.kind === "chunked" || hasChunkedHint(response))) text += "Transfer-Encoding: chunked\r\n";
  if (status === 101) text += `Connection: Upgrade\r\nUpgrade: ${fields.get("upgrade") ?? ""}\r\n`;
  else if (close) text += "Connection: close\r\n";
  return Buffer.from(`${text}\r\n`, "latin1");
}

/** Statuses whose answers must not have a Content-Length (RFC 9110, 8.6): a client that used it would wait for a body, or take the next answer for one. */
const isBodyless = (status: number) => status < 200 || status === 204;

/** Whether an answer to HEAD has the Transfer-Encoding that an answer to GET would have. */
function hasChunkedHint(response: ResponseHead): boolean {
  return (
    response.framing.kind === "none" &&
    response.status >= 200 &&
    response.status !== 204 &&
    response.status !== 304 &&
    response.fields.lower.includes("transfer-encoding")
  );
}

/** A complete answer that is not forwarded, with a Content-Length where the status allows one. `head`: without the body, for HEAD. */
export function ownResponse(
  status: number,
  fields: readonly (readonly [string, string])[],
  body: Uint8Array | string,
  options: { close?: boolean; head?: boolean },
): Uint8Array {
  const content = typeof body === "string" ? Buffer.from(body) : body;
  let text = `HTTP/1.1 ${status} ${REASONS[status] ?? ""}\r\n`;
  for (const [name, value] of fields) text += `${name}: ${value}\r\n`;
  if (status !== 204 && status >= 200 && status !== 304) text += `Content-Length: ${content.byteLength}\r\n`;
  if (options.close) text += "Connection: close\r\n";
  const head = Buffer.from(`${text}\r\n`, "latin1");
  return options.head || content.byteLength === 0 ? head : Buffer.concat([head, content]);
}

export const REASONS: Readonly<Record<number, string>> = {
  100: "Continue",
  200: "OK",
  201: "Created",
  202: "Accepted",
  204: "No Content",
  303: "See Other",
  304: "Not Modified",
  308: "Permanent Redirect",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};
