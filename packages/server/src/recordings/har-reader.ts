import { AppError } from "@boxyard/core";

/** Longest text of one entry: its content is within it. */
const MAX_ENTRY_BYTES = 96 << 20;
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
  private held: Buffer[] = [];
  private heldBytes = 0;

  push(bytes: Buffer): Buffer[] {
    const found: Buffer[] = [];
    /** Where the entry that goes on begins in these bytes; -1 outside of one. */
    let from = this.isInEntries && this.depth > KEY_DEPTH + 1 ? 0 : -1;
    for (let at = 0; at < bytes.byteLength; at++) {
      if (this.isInText && !this.isKey && !this.isEscaped) {
        at = nextMark(bytes, at);
        if (at < 0) break;
      }
      const byte = bytes[at] as number;
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
    const text = Buffer.concat(this.held);
    this.held = [];
    this.heldBytes = 0;
    return text;
  }

  private hold(bytes: Buffer): void {
    this.held.push(bytes);
    this.heldBytes += bytes.byteLength;
    if (this.heldBytes > MAX_ENTRY_BYTES) throw bad(`an entry has more than ${MAX_ENTRY_BYTES >> 20} MiB`);
  }
}

/** The next quote or backslash, from `at` on; -1 where there is none. */
function nextMark(bytes: Buffer, at: number): number {
  const quote = bytes.indexOf(QUOTE, at);
  const end = quote < 0 ? bytes.byteLength : quote;
  const slash = bytes.subarray(at, end).indexOf(BACKSLASH);
  return slash >= 0 ? at + slash : quote;
}
