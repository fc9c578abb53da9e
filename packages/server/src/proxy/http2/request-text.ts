import { type RequestFields, requestFields } from "@boxyard/http1";

/** A request of HTTP/2 as one of HTTP/1.1. */
export interface RequestText {
  readonly method: string;
  /** The head, in latin1. */
  readonly head: string;
  /** Bytes of the body as announced; `chunked`: not announced. */
  readonly length: number | "chunked";
  /** No body comes, nor the end of one. */
  readonly isWhole: boolean;
}

/** What HTTP/1.1 has no use for between this server's own parts: bodies of HTTP/2 are sent without being asked for. */
const DROPPED = new Set(["expect", "content-length", "cookie"]);

/** `raw`: name, value, name, value, …; `isWhole`: no body comes. Undefined for a request that cannot be passed on without doubt about what it means. */
export function requestText(raw: readonly string[], isWhole: boolean): RequestText | undefined {
  const request = requestFields(raw);
  const host = request && onlyOne(request.hosts);
  if (!request || host === undefined || !/^[\x21-\x7e]+$/.test(host)) return undefined;
  const announced = lengthOf(request);
  if (announced === undefined || (isWhole && announced !== "chunked" && announced > 0)) return undefined;
  const length = isWhole ? 0 : announced;
  const lines = [`${request.method} ${request.target} HTTP/1.1`, `Host: ${host}`];
  for (const [name, value] of request.fields) if (!DROPPED.has(name)) lines.push(`${name}: ${value}`);
  // Browsers send each cookie in a field of its own (RFC 9113, 8.2.3).
  const cookies = request.fields.flatMap(([name, value]) => (name === "cookie" ? [value] : []));
  if (cookies.length > 0) lines.push(`cookie: ${cookies.join("; ")}`);
  if (length === "chunked") lines.push("transfer-encoding: chunked");
  else if (!isWhole || announced === 0 || /^(POST|PUT|PATCH)$/.test(request.method)) lines.push(`content-length: ${length}`);
  return { method: request.method, head: `${lines.join("\r\n")}\r\n\r\n`, length, isWhole };
}

/** The host, if all that name it agree. */
function onlyOne(hosts: readonly string[]): string | undefined {
  return hosts.every((host) => host.toLowerCase() === hosts[0]?.toLowerCase()) ? hosts[0] : undefined;
}

/** Undefined: lengths that contradict each other, or are no numbers. */
function lengthOf({ fields }: RequestFields): number | "chunked" | undefined {
  const lengths = fields.flatMap(([name, value]) => (name === "content-length" ? [value] : []));
  const [first, ...more] = lengths;
  if (first === undefined) return "chunked";
  return /^\d{1,15}$/.test(first) && more.every((other) => other === first) ? Number(first) : undefined;
}
