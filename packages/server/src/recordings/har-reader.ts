import { AppError } from "@boxyard/core";
import { ByteBuilder } from "@boxyard/http1";

/** Longest text of one entry: its content is within it. */
const MAX_ENTRY_BYTES = 96 << 20;
/** Longest rest of an entry without its texts: a parser makes far more memory of brackets and commas than of texts. */
const MAX_STRUCTURE_BYTES = 4 << 20;
const MAX_KEY = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = new Set([0x7b, 0x5b]);
const CLOSE = new Set([0x7d, 0x5d]);
/** `log.entries`: members of an object in the object of the file. */
const KEY_DEPTH = 2;

const bad = (what: string) => new AppError("invalid_argument", `This is no HTTP archive (HAR): ${what}`, { reason: "bad_har" });

/**
 * Reads the entries of an archive (HAR) one by one, as its bytes come: an archive may be larger than what may be in memory. Throws `invalid_argument`, reason
 * `bad_har`.
 */
export async function* readHar(source: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  const reader = new EntryFinder();
  for await (const bytes of source) for (const text of reader.push(Buffer.from(bytes))) yield parsed(text);
  reader.end();
}

function parsed(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString("utf8"));
  } catch {
    throw bad("an entry is not JSON");
  }
}

/** Cuts the entries out of the bytes, by brackets and quotes alone. */
class EntryFinder {
  private depth = 0;
  private isInText = false;
  private isEscaped = false;
  /** The last text at the depth of keys, which is the key when a value follows. */
  private key: number[] = [];
  private isKey = false;
  /** Set within the array. */
  private isInEntries = false;
  private hasEntries = false;
  private readonly held = new ByteBuilder();
  /** Bytes of the entry that are in no text. */
  private structureBytes = 0;

  push(bytes: Buffer): Buffer[] {
    const found: Buffer[] = [];
    /** Where the entry that goes on begins in these bytes; -1 outside of one. */
    let from = this.isInEntries && this.depth > KEY_DEPTH + 1 ? 0 : -1;
    const quotes = new NextOf(bytes, QUOTE);
    const slashes = new NextOf(bytes, BACKSLASH);
    for (let at = 0; at < bytes.byteLength; at++) {
      if (this.isInText && !this.isKey && !this.isEscaped) {
        at = Math.min(quotes.from(at), slashes.from(at));
        if (at === Number.POSITIVE_INFINITY) break;
      }
      const byte = bytes[at] as number;
      if (!this.isInText) this.countStructure();
      if (this.isInText) this.textByte(byte);
      else if (byte === QUOTE) this.beginText();
      else if (OPEN.has(byte)) {
        if (this.isInEntries && this.depth === KEY_DEPTH + 1) from = at;
        this.open(byte);
      } else if (CLOSE.has(byte)) {
        this.close();
        if (!this.isInEntries || this.depth !== KEY_DEPTH + 1 || from < 0) continue;
        found.push(this.take(bytes.subarray(from, at + 1)));
        from = -1;
      }
    }
    if (from >= 0) this.hold(bytes.subarray(from));
    return found;
  }

  end(): void {
    if (this.depth !== 0 || this.isInText) throw bad("it ends in the middle");
    if (!this.hasEntries) throw bad("it has no log.entries");
  }

  private textByte(byte: number): void {
    if (this.isEscaped) this.isEscaped = false;
    else if (byte === BACKSLASH) this.isEscaped = true;
    else if (byte === QUOTE) {
      this.isInText = false;
      this.isKey = false;
      return;
    }
    if (this.isKey && this.key.length <= MAX_KEY) this.key.push(byte);
  }

  private beginText(): void {
    this.isInText = true;
    this.isKey = this.depth <= KEY_DEPTH;
    if (this.isKey) this.key = [];
  }

  private open(byte: number): void {
    if (this.depth === KEY_DEPTH && byte === 0x5b && Buffer.from(this.key).toString("latin1") === "entries" && !this.hasEntries) {
      this.isInEntries = true;
      this.hasEntries = true;
    }
    this.depth += 1;
    if (this.depth > 1000) throw bad("it is nested too deeply");
  }

  private close(): void {
    this.depth -= 1;
    if (this.depth < 0) throw bad("its brackets do not match");
    if (this.depth === KEY_DEPTH) this.isInEntries = false;
  }

  private take(last: Buffer): Buffer {
    this.hold(last);
    this.structureBytes = 0;
    return this.held.take();
  }

  private hold(bytes: Buffer): void {
    if (this.held.byteLength + bytes.byteLength > MAX_ENTRY_BYTES) throw bad(`an entry has more than ${MAX_ENTRY_BYTES >> 20} MiB`);
    this.held.append(bytes);
  }

  private countStructure(): void {
    if (!this.isInEntries || this.depth <= KEY_DEPTH + 1) return;
    this.structureBytes += 1;
    if (this.structureBytes > MAX_STRUCTURE_BYTES) throw bad(`an entry has more than ${MAX_STRUCTURE_BYTES >> 20} MiB beside its texts`);
  }
}

/** Finds a byte in others, from places that only grow: each byte is looked at once, however often it is asked. */
class NextOf {
  private readonly bytes: Buffer;
  private readonly byte: number;
  private found = -1;

  constructor(bytes: Buffer, byte: number) {
    this.bytes = bytes;
    this.byte = byte;
  }

  /** The next one at `at` or behind it; infinity where there is none. */
  from(at: number): number {
    if (this.found >= at) return this.found;
    const next = this.bytes.indexOf(this.byte, at);
    this.found = next < 0 ? Number.POSITIVE_INFINITY : next;
    return this.found;
  }
}
