import type { Fields, RequestHead, ResponseHead } from "./head.ts";

/**
 * Fields that belong to one connection and are not handed on (RFC 9110, 7.6.1), and those by which proxies tell of themselves: inbound
 * ones are dropped and none are added, since applications that see hints of https break in more ways than one (server.md C.2).
 */
const DROPPED = new Set([
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

/** A key of this platform, which must never reach a sandbox; programs in sandboxes may well use the same header for their own. */
const PLATFORM_KEY = /^e2b_[0-9a-f]+$/;

function isDropped(lower: string, value: string, named: readonly string[]): boolean {
  if (DROPPED.has(lower) || (named.length > 0 && named.includes(lower))) return true;
  // All the others that need a look begin so.
  if (lower.charCodeAt(0) !== 0x78) return false;
  return lower.startsWith("x-forwarded-") || (lower === "x-api-key" && PLATFORM_KEY.test(value));
}

/** The fields that are handed on, as they were sent. */
function copy(fields: Fields, named: readonly string[]): string {
  let text = "";
  for (let i = 0; i < fields.lower.length; i++) {
    if (!isDropped(fields.lower[i] as string, fields.values[i] as string, named)) text += `${fields.lines[i]}\r\n`;
  }
  return text;
}

/** These frame the message or say whom it is for: naming them in Connection does not make them go away. */
const NEVER_DROPPED = new Set(["host", "content-length", "content-type"]);
const namedIn = (fields: Fields) => {
  const named = fields.list("connection");
  return named.length === 0 ? named : named.filter((name) => !NEVER_DROPPED.has(name));
};

/** The request as the sandbox gets it: target, Host and everything that is end-to-end untouched. `maskedHost` takes the place of Host. */
export function forwardedRequest(request: RequestHead, maskedHost?: string): Uint8Array {
  let text = `${request.method} ${request.target} HTTP/1.${request.minor}\r\n`;
  const fields = copy(request.fields, namedIn(request.fields));
  text += maskedHost === undefined ? fields : fields.replace(/(^|\n)host:[^\r]*/i, (_all, start: string) => `${start}Host: ${maskedHost}`);
  if (request.framing.kind === "chunked") text += "Transfer-Encoding: chunked\r\n";
  if (request.upgrade !== undefined) text += `Connection: Upgrade\r\nUpgrade: ${request.upgrade}\r\n`;
  else if (request.minor === 0) text += "Connection: close\r\n";
  return Buffer.from(`${text}\r\n`, "latin1");
}

/** The answer as the client gets it. `close`: the connection ends with it. */
export function forwardedResponse(response: ResponseHead, close: boolean): Uint8Array {
  let text = `HTTP/1.1 ${response.status} ${response.reason}\r\n`;
  text += copy(response.fields, namedIn(response.fields));
  if (response.framing.kind === "chunked" || hasChunkedHint(response)) text += "Transfer-Encoding: chunked\r\n";
  if (response.status === 101) text += `Connection: Upgrade\r\nUpgrade: ${response.fields.get("upgrade") ?? ""}\r\n`;
  else if (close) text += "Connection: close\r\n";
  return Buffer.from(`${text}\r\n`, "latin1");
}

/** An answer to HEAD may say how GET would be framed. */
function hasChunkedHint(response: ResponseHead): boolean {
  return (
    response.framing.kind === "none" &&
    response.status >= 200 &&
    response.status !== 204 &&
    response.status !== 304 &&
    response.fields.lower.includes("transfer-encoding")
  );
}

/** A whole answer of our own. */
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
  304: "Not Modified",
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
