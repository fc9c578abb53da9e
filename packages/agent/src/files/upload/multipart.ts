import { httpFailure } from "../../contracts.ts";
import { LIMITS } from "../limits.ts";
import { parseParameters } from "./parameters.ts";

/*
 * A multipart body, part by part, as the bytes arrive (RFC 7578, RFC 2046). Own code, because the libraries buffer, load node's streams, or remove
 * directories from file names. In memory are one chunk and at most a boundary's length of the one before.
 */

export interface Part {
  /** Name of the form field. */
  readonly name: string;
  /** As sent, with directories; undefined when the part names no file. */
  readonly filename: string | undefined;
  /** What the reader leaves unread is skipped. */
  readonly content: AsyncIterable<Uint8Array>;
}

const broken = (why: string) => httpFailure(400, `error parsing multipart form: ${why}`);

/** Boundary of a `multipart/…` content type. Throws 400 when there is none. */
export function boundaryOf(contentType: string): string {
  const boundary = parseParameters(contentType).boundary ?? "";
  if (boundary === "" || boundary.length > LIMITS.boundaryChars || /[^\x20-\x7e]/.test(boundary)) throw broken("no valid boundary");
  return boundary;
}

/** Reads a stream of bytes with look-ahead. */
class Window {
  private readonly source: AsyncIterator<Uint8Array>;
  private held: Buffer;

  constructor(source: AsyncIterator<Uint8Array>, start: string) {
    this.source = source;
    this.held = Buffer.from(start, "latin1");
  }

  /** Appends the next chunk. Throws 400 when the body has ended. */
  private async more(): Promise<void> {
    const next = await this.source.next();
    if (next.done) throw broken("unexpected end of the body");
    const chunk = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
    this.held = this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk]);
  }

  /** Puts text back before what comes next. */
  unread(text: string): void {
    this.held = Buffer.concat([Buffer.from(text, "latin1"), this.held]);
  }

  /** Takes exactly `count` bytes. */
  async take(count: number): Promise<Buffer> {
    while (this.held.length < count) await this.more();
    const taken = this.held.subarray(0, count);
    this.held = this.held.subarray(count);
    return taken;
  }

  /** Takes everything up to and including `mark`; returns the bytes before it. Throws 400 when they are more than `limit`. */
  async takeThrough(mark: string, limit: number): Promise<Buffer> {
    for (;;) {
      const found = this.held.indexOf(mark, 0, "latin1");
      if (found > limit || (found < 0 && this.held.length > limit)) throw broken("header of a part too long");
      if (found >= 0) {
        const taken = this.held.subarray(0, found);
        this.held = this.held.subarray(found + mark.length);
        return taken;
      }
      await this.more();
    }
  }

  /** Yields everything before `mark`, and takes `mark` as well. */
  async *streamThrough(mark: Buffer): AsyncGenerator<Uint8Array> {
    for (;;) {
      const found = this.held.indexOf(mark);
      if (found >= 0) {
        const last = this.held.subarray(0, found);
        this.held = this.held.subarray(found + mark.length);
        if (last.length > 0) yield last;
        return;
      }
      const safe = this.held.length - partialEnd(this.held, mark);
      const sure = this.held.subarray(0, safe);
      this.held = this.held.subarray(safe);
      if (sure.length > 0) yield sure;
      await this.more();
    }
  }
}

/** How many bytes at the end may be the start of `mark`. */
function partialEnd(held: Buffer, mark: Buffer): number {
  const first = mark[0] as number;
  for (let at = held.indexOf(first, Math.max(0, held.length - mark.length + 1)); at >= 0; at = held.indexOf(first, at + 1)) {
    const tail = held.length - at;
    if (held.compare(mark, 0, tail, at) === 0) return tail;
  }
  return 0;
}

/** The parts in order. Throws 400 for a malformed or incomplete body. */
export async function* partsOf(chunks: AsyncIterable<Uint8Array>, boundary: string): AsyncGenerator<Part> {
  const mark = Buffer.from(`\r\n--${boundary}`, "latin1");
  // The first boundary may stand at the very start, without the line end before it.
  const source = chunks[Symbol.asyncIterator]();
  try {
    yield* partsIn(new Window(source, "\r\n"), mark);
  } finally {
    // After the last part the body may go on. Returning ends its source, and the source's wait for data.
    await source.return?.();
  }
}

async function* partsIn(window: Window, mark: Buffer): AsyncGenerator<Part> {
  for await (const _ of window.streamThrough(mark)) {
    // Preamble, which is ignored (RFC 2046).
  }
  for (let count = 0; ; count++) {
    if (await isLast(window)) return;
    if (count >= LIMITS.uploadParts) throw httpFailure(400, `more than ${LIMITS.uploadParts} parts`);
    const header = parseHeader((await window.takeThrough("\r\n\r\n", LIMITS.partHeaderBytes)).toString("utf8"));
    const content = window.streamThrough(mark);
    yield { ...header, content };
    for await (const _ of content) {
      // Content that the reader of this part did not read.
    }
  }
}

/** Reads what follows a boundary: `--` ends the body; a line end, after optional blanks, begins a part. */
async function isLast(window: Window): Promise<boolean> {
  const two = (await window.take(2)).toString("latin1");
  if (two === "--") return true;
  if (two === "\r\n") return unread(window);
  const rest = two + (await window.takeThrough("\r\n", 64)).toString("latin1");
  if (rest.trim() !== "") throw broken("text after a boundary");
  return unread(window);
}

/** Puts the line end back before the header block, so that an empty block (two line ends) is found as well. */
function unread(window: Window): false {
  window.unread("\r\n");
  return false;
}

function parseHeader(block: string): { name: string; filename: string | undefined } {
  for (const line of block.replace(/\r\n[ \t]+/g, " ").split("\r\n")) {
    const colon = line.indexOf(":");
    if (line !== "" && colon <= 0) throw broken("header of a part without a colon");
    if (line.slice(0, colon).trim().toLowerCase() !== "content-disposition") continue;
    const value = line.slice(colon + 1);
    if (!/^\s*form-data\s*(;|$)/i.test(value)) continue;
    const parameters = parseParameters(value);
    return { name: unescapeForm(parameters.name) ?? "", filename: unescapeForm(parameters.filename) };
  }
  return { name: "", filename: undefined };
}

/** Decodes `%22`, `%0D` and `%0A`, by which HTML forms and other clients escape quotes and line ends in names. They escape nothing else. */
function unescapeForm(text: string | undefined): string | undefined {
  return text?.replace(/%(22|0D|0A)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
