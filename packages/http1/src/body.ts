import { type Framing, HeadError } from "./head.ts";

/**
 * Finds the end of a body in the bytes of a connection, so that they can be forwarded unchanged. `take` returns how many of the bytes from `from` on
 * belong to the body; `done` is true once its last byte was taken.
 */
export interface BodyScanner {
  readonly done: boolean;
  /** Number of the next bytes that belong to the body whatever their value. `skip` reports that so many of them were forwarded without `take`. */
  readonly certain: number;
  take(bytes: Buffer, from: number): number;
  skip(count: number): void;
}

/** A scanner for the body that a head announces. */
export function scannerFor(framing: Framing): BodyScanner {
  switch (framing.kind) {
    case "none":
      return new LengthScanner(0);
    case "length":
      return new LengthScanner(framing.length);
    case "chunked":
      return new ChunkedScanner();
    case "close":
      return new LengthScanner(Number.POSITIVE_INFINITY);
  }
}

class LengthScanner implements BodyScanner {
  private left: number;

  constructor(length: number) {
    this.left = length;
  }

  get done(): boolean {
    return this.left === 0;
  }

  get certain(): number {
    return this.left;
  }

  take(bytes: Buffer, from: number): number {
    const count = Math.min(this.left, bytes.byteLength - from);
    this.left -= count;
    return count;
  }

  skip(count: number): void {
    this.left -= count;
  }
}

const CR = 13;
const LF = 10;
const SEMICOLON = 0x3b;
/** Longest chunk-size line with its extension, and longest trailer section. */
const MAX_LINE = 4096;
const MAX_TRAILER = 16 << 10;

type ChunkState =
  | "size"
  | "blank"
  | "extension"
  | "size-lf"
  | "data"
  | "data-cr"
  | "data-lf"
  | "trailer-start"
  | "trailer"
  | "trailer-lf"
  | "end-lf"
  | "done";

/**
 * The chunked coding (RFC 9112 section 7.1), byte by byte outside the data. Every line must end in CR LF and hold no other CR or LF: parsers that treat
 * those differently make request smuggling possible. Throws `HeadError`.
 */
export class ChunkedScanner implements BodyScanner {
  private state: ChunkState = "size";
  private size = 0;
  private digits = 0;
  private lineBytes = 0;

  get done(): boolean {
    return this.state === "done";
  }

  get certain(): number {
    return this.state === "data" ? this.size : 0;
  }

  skip(count: number): void {
    this.size -= count;
    if (this.size === 0) this.state = "data-cr";
  }

  take(bytes: Buffer, from: number): number {
    let at = from;
    const end = bytes.byteLength;
    while (at < end && this.state !== "done") {
      if (this.state === "data") {
        const count = Math.min(this.size, end - at);
        this.size -= count;
        at += count;
        if (this.size === 0) this.state = "data-cr";
      } else {
        this.step(bytes[at] ?? 0);
        at += 1;
      }
    }
    return at - from;
  }

  private step(byte: number): void {
    switch (this.state) {
      case "size":
        this.sizeByte(byte);
        break;
      case "blank":
        this.blankByte(byte);
        break;
      case "extension":
        this.lineByte(byte, "size-lf", MAX_LINE);
        break;
      case "size-lf":
        this.expect(byte, LF);
        this.lineBytes = 0;
        this.digits = 0;
        this.state = this.size > 0 ? "data" : "trailer-start";
        return;
      case "data-cr":
        this.expect(byte, CR);
        this.state = "data-lf";
        return;
      case "data-lf":
        this.expect(byte, LF);
        this.state = "size";
        return;
      case "trailer-start":
        if (byte === CR) this.state = "end-lf";
        else {
          this.state = "trailer";
          this.lineByte(byte, "trailer-lf", MAX_TRAILER);
        }
        return;
      case "trailer":
        this.lineByte(byte, "trailer-lf", MAX_TRAILER);
        break;
      case "trailer-lf":
        this.expect(byte, LF);
        this.state = "trailer-start";
        return;
      case "end-lf":
        this.expect(byte, LF);
        this.state = "done";
    }
  }

  private sizeByte(byte: number): void {
    const digit = hexDigit(byte);
    if (digit >= 0) {
      this.digits += 1;
      if (this.digits > 12) throw new HeadError(400, "chunk too large");
      this.size = this.size * 16 + digit;
      return;
    }
    if (this.digits === 0) throw new HeadError(400, "malformed chunk size");
    if (byte === CR) this.state = "size-lf";
    else if (byte === SEMICOLON) this.state = "extension";
    else if (byte === 0x20 || byte === 0x09) this.state = "blank";
    else throw new HeadError(400, "malformed chunk size");
  }

  /** Between a size and its extension only blanks are allowed. */
  private blankByte(byte: number): void {
    this.lineBytes += 1;
    if (byte === SEMICOLON) this.state = "extension";
    else if ((byte !== 0x20 && byte !== 0x09) || this.lineBytes > MAX_LINE) throw new HeadError(400, "malformed chunk size");
  }

  private lineByte(byte: number, next: ChunkState, limit: number): void {
    this.lineBytes += 1;
    if (byte === CR) this.state = next;
    else if (isControl(byte) || this.lineBytes > limit) throw new HeadError(400, "malformed chunk line");
  }

  private expect(byte: number, wanted: number): void {
    if (byte !== wanted) throw new HeadError(400, "malformed chunked body");
  }
}

const isControl = (byte: number) => (byte < 0x20 && byte !== 0x09) || byte === 0x7f;

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** Decodes a chunked body, for receivers without the coding. */
export class ChunkedDecoder {
  private size = 0;
  private left = 0;
  private state: "size" | "line" | "data" | "gap" | "end" = "size";

  /** The content in `wire`, which a `ChunkedScanner` has found well-formed. One copy, however many chunks there are. */
  push(wire: Buffer): Buffer {
    const out = Buffer.allocUnsafeSlow(wire.byteLength);
    let used = 0;
    let at = 0;
    while (at < wire.byteLength && this.state !== "end") {
      if (this.state !== "data") {
        this.step(wire[at] ?? 0);
        at += 1;
        continue;
      }
      const count = Math.min(this.left, wire.byteLength - at);
      wire.copy(out, used, at, at + count);
      used += count;
      at += count;
      this.left -= count;
      if (this.left === 0) this.expectLineEnd();
    }
    return out.subarray(0, used);
  }

  private step(byte: number): void {
    if (this.state === "gap") {
      this.left -= 1;
      if (this.left === 0) this.state = "size";
      return;
    }
    const digit = this.state === "size" ? hexDigit(byte) : -1;
    if (digit >= 0) this.size = this.size * 16 + digit;
    else if (byte !== LF) this.state = "line";
    else this.beginData();
  }

  private expectLineEnd(): void {
    this.state = "gap";
    this.left = 2;
  }

  private beginData(): void {
    this.left = this.size;
    this.size = 0;
    this.state = this.left > 0 ? "data" : "end";
  }
}
