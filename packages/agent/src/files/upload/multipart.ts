import { httpFailure } from "../../contracts.ts";
import { LIMITS } from "../limits.ts";
import { parseParameters } from "./parameters.ts";

/*
 * A multipart body, part by part, as the bytes come (RFC 7578, RFC 2046). Own code because the libraries buffer, pull in node's streams,
 * or cut directories off file names; what is held here is one chunk and at most a boundary's length of the one before.
 */

export interface Part {
  /** Name of the form field. */
  readonly name: string;
  /** As sent, directories and all; undefined when the part names no file. */
  readonly filename: string | undefined;
  /** Read it to its end, or what is left of it is skipped. */
  readonly content: AsyncIterable<Uint8Array>;
}

const broken = (why: string) => httpFailure(400, `error parsing multipart form: ${why}`);

/** Boundary of a `multipart/…` content type. Throws 400 when there is none. */
export function boundaryOf(contentType: string): string {
  const boundary = parseParameters(contentType).boundary ?? "";
  if (boundary === "" || boundary.length > LIMITS.boundaryChars || /[^\x20-\x7e]/.test(boundary)) throw broken("no valid boundary");
  return boundary;
}

/** Bytes with look-ahead. */
class Window {
  private readonly source: AsyncIterator<Uint8Array>;
  private held: Buffer;

  constructor(source: AsyncIterator<Uint8Array>, start: string) {
    this.source = source;
    this.held = Buffer.from(start, "latin1");
  }

  /** Appends the next chunk. Throws when the body has ended, which no caller expects. */
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

  /** Takes up to and with `mark`; returns what stood before it. Throws when that is longer than `limit`. */
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

  /** Yields everything before `mark`, then takes the mark itself. */
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

/** The parts in order. Throws 400 for a body that is not well formed, also when it breaks off. */
export async function* partsOf(chunks: AsyncIterable<Uint8Array>, boundary: string): AsyncGenerator<Part> {
  const mark = Buffer.from(`\r\n--${boundary}`, "latin1");
  // The first boundary may stand at the very start, without the line end before it.
  const source = chunks[Symbol.asyncIterator]();
  try {
    yield* partsIn(new Window(source, "\r\n"), mark);
  } finally {
    // The end of the parts is not the end of the body; what watches over it must not wait on.
    await source.return?.();
  }
}

async function* partsIn(window: Window, mark: Buffer): AsyncGenerator<Part> {
  for await (const _ of window.streamThrough(mark)) {
    // Preamble: not for us (RFC 2046).
  }
  for (let count = 0; ; count++) {
    if (await isLast(window)) return;
    if (count >= LIMITS.uploadParts) throw httpFailure(400, `more than ${LIMITS.uploadParts} parts`);
    const header = parseHeader((await window.takeThrough("\r\n\r\n", LIMITS.partHeaderBytes)).toString("utf8"));
    const content = window.streamThrough(mark);
    yield { ...header, content };
    for await (const _ of content) {
      // Left over by the reader of this part.
    }
  }
}

/** After a boundary: `--` ends the body, a line end (blanks allowed before it) begins a part. */
async function isLast(window: Window): Promise<boolean> {
  const two = (await window.take(2)).toString("latin1");
  if (two === "--") return true;
  if (two === "\r\n") return unread(window);
  const rest = two + (await window.takeThrough("\r\n", 64)).toString("latin1");
  if (rest.trim() !== "") throw broken("text after a boundary");
  return unread(window);
}

/** Lets the header block begin with a line end, so that an empty one (two line ends) is found as well. */
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

/** Undoes what HTML forms and every client after their model do to quotes and line ends in names; they escape nothing else. */
function unescapeForm(text: string | undefined): string | undefined {
  return text?.replace(/%(22|0D|0A)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
