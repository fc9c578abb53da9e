import { jsonError } from "../../contracts.ts";
import { randomHex } from "../../random.ts";
import { LIMITS } from "../limits.ts";
import { contentError, guarded } from "../sys/errno.ts";
import { precondition, rangeApplies, type Validators } from "./conditional.ts";
import { type ByteRange, contentRange, parseRange } from "./range.ts";
import { readFile, readPart, streamOf } from "./read-stream.ts";

/** A regular file that was opened once and described. */
export interface Found {
  readonly path: string;
  /** In bytes; 0 where the size is unknown before the file is read. */
  readonly size: number;
  /** The content of a small file. */
  readonly content: Uint8Array<ArrayBuffer> | undefined;
  readonly type: string;
  readonly disposition: string;
  readonly validators: Validators;
}

function baseHeaders(found: Found): Record<string, string> {
  return { "Content-Type": found.type, "Content-Disposition": found.disposition, Vary: "Accept-Encoding" };
}

function validatorHeaders(found: Found): Record<string, string> {
  return {
    ETag: found.validators.etag,
    "Last-Modified": new Date(found.validators.modified * 1000).toUTCString(),
    "Accept-Ranges": "bytes",
  };
}

/** The file as it is: whole, a part, several parts, or 304, 412, 416. */
export function sendIdentity(found: Found, request: Request): Response {
  const status = precondition(request.headers, found.validators);
  if (status === 412) return jsonError(412, "the file does not fulfil the precondition");
  const headers = { ...baseHeaders(found), ...validatorHeaders(found) };
  if (status === 304) return new Response(null, { status, headers: { ...validatorHeaders(found), Vary: "Accept-Encoding" } });
  const ranges = rangeApplies(request.headers, found.validators) ? parseRange(request.headers.get("Range"), found.size) : "whole";
  if (ranges === "unsatisfiable") {
    const refusal = jsonError(416, `no byte of the range is in the file, which has ${found.size}`);
    refusal.headers.set("Content-Range", `bytes */${found.size}`);
    return refusal;
  }
  if (request.method === "HEAD") return head(headers, found.size);
  if (ranges === "whole") return whole(found, headers, request.headers.has("Range"));
  const [only] = ranges;
  return only && ranges.length === 1 ? part(found, headers, only) : parts(found, headers, ranges);
}

function head(headers: Record<string, string>, size: number): Response {
  return new Response(null, { headers: { ...headers, "Content-Length": String(size) } });
}

/**
 * A large file is sent by the kernel (sendfile). If the file becomes shorter meanwhile, the body ends early and no error is reported: only the
 * end of the connection shows the client that bytes are missing.
 */
const SENT_BY_KERNEL = { Connection: "close" };

function whole(found: Found, headers: Record<string, string>, ignoredRange: boolean): Response {
  if (found.content) return new Response(found.content, { headers });
  // With a file as body Bun applies the Range header itself. Where `parseRange` ignores the header, the body is a stream.
  if (!ignoredRange) return new Response(Bun.file(found.path), { headers: { ...headers, ...SENT_BY_KERNEL } });
  const all = readFile(found.path, { start: 0, end: found.size - 1 });
  return new Response(streamOf(all), { headers: { ...headers, "Content-Length": String(found.size) } });
}

function part(found: Found, headers: Record<string, string>, range: ByteRange): Response {
  const end = range.end + 1;
  const partHeaders = { ...headers, "Content-Range": contentRange(range, found.size) };
  if (end - range.start > LIMITS.wholeBytes) {
    const body = Bun.file(found.path).slice(range.start, end);
    return new Response(body, { status: 206, headers: { ...partHeaders, ...SENT_BY_KERNEL } });
  }
  const bytes = found.content?.subarray(range.start, end) ?? guarded(`read '${found.path}'`, () => readPart(found.path, range));
  return new Response(bytes, { status: 206, headers: partHeaders });
}

function parts(found: Found, headers: Record<string, string>, ranges: readonly ByteRange[]): Response {
  const boundary = randomHex(15);
  const headOf = (range: ByteRange) =>
    `\r\n--${boundary}\r\nContent-Range: ${contentRange(range, found.size)}\r\nContent-Type: ${found.type}\r\n\r\n`;
  const last = `\r\n--${boundary}--\r\n`;
  const length = ranges.reduce((sum, range) => sum + headOf(range).length + range.end - range.start + 1, last.length);
  const body = async function* () {
    for (const range of ranges) {
      yield Buffer.from(headOf(range));
      yield* readFile(found.path, range);
    }
    yield Buffer.from(last);
  };
  const type = `multipart/byteranges; boundary=${boundary}`;
  return new Response(streamOf(body()), {
    status: 206,
    headers: { ...headers, "Content-Type": type, "Content-Length": String(length) },
  });
}

/**
 * Sends a file of unknown size: an empty file, or one whose content the kernel makes at each read (`/proc`, `/sys`). The latter has no ranges and
 * no validators, because its versions cannot be told apart.
 */
export async function sendUnsized(found: Found, request: Request): Promise<Response> {
  const { method } = request;
  const headers = baseHeaders(found);
  const chunks = readFile(found.path);
  try {
    const first = await chunks.next();
    const second = first.done ? first : await chunks.next();
    if (first.done) return sendIdentity({ ...found, content: new Uint8Array(0) }, request);
    if (second.done) return method === "HEAD" ? head(headers, first.value.length) : new Response(first.value, { headers });
    if (method === "HEAD") {
      await chunks.return(undefined);
      return new Response(null, { headers });
    }
    const rest = async function* () {
      yield first.value;
      yield second.value;
      yield* chunks;
    };
    return new Response(streamOf(rest()), { headers });
  } catch (error) {
    throw contentError(`read '${found.path}'`, error, found.path);
  }
}

/** Sends a file compressed, without a length. The entity tag is weak, because the bytes differ from the stored ones. */
export function sendGzip(found: Found, method: string): Response {
  const headers = {
    ...baseHeaders(found),
    "Content-Encoding": "gzip",
    ETag: `W/${found.validators.etag}`,
    "Last-Modified": new Date(found.validators.modified * 1000).toUTCString(),
  };
  if (method === "HEAD") return new Response(null, { headers });
  const body = streamOf(readFile(found.path)).pipeThrough(
    new CompressionStream("gzip") as unknown as TransformStream<Uint8Array, Uint8Array>,
  );
  return new Response(body, { headers });
}
