/** The last part of a command's output, by its position in bytes: what came before is dropped when the window is full. */
export class OutputWindow {
  private readonly maxBytes: number;
  private readonly pieces: Uint8Array[] = [];
  private held = 0;
  private total = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Position of the first byte that is still here. */
  get start(): number {
    return this.total - this.held;
  }

  /** Position after the last byte. */
  get end(): number {
    return this.total;
  }

  append(bytes: Uint8Array): void {
    this.pieces.push(bytes);
    this.held += bytes.length;
    this.total += bytes.length;
    while (this.held > this.maxBytes) this.dropFirst(this.held - this.maxBytes);
  }

  /** Continues at a later position: the bytes between are missing. */
  skipTo(position: number): void {
    if (position <= this.total) return;
    this.clear();
    this.total = position;
  }

  clear(): void {
    this.pieces.length = 0;
    this.held = 0;
  }

  /** The bytes from a position, at most so many. No character is cut where the text goes on; `to` is the position after them. */
  read(from: number, maxBytes: number): { readonly text: string; readonly from: number; readonly to: number } {
    const first = Math.min(Math.max(from, this.start), this.total);
    const bytes = this.bytes(first, Math.min(maxBytes, this.total - first));
    const whole = first + bytes.length < this.total ? wholeCharacters(bytes) : bytes.length;
    return { text: new TextDecoder().decode(bytes.subarray(0, whole)), from: first, to: first + whole };
  }

  /** The last bytes, at most so many and not before `from`, beginning with a whole character. */
  readLast(from: number, maxBytes: number): { readonly text: string; readonly from: number; readonly to: number } {
    let first = Math.max(from, this.start, this.total - maxBytes);
    const bytes = this.bytes(first, this.total - first);
    let skipped = 0;
    while (first > from && skipped < 3 && ((bytes[skipped] ?? 0) & 0xc0) === 0x80) skipped++;
    first += skipped;
    return { text: new TextDecoder().decode(bytes.subarray(skipped)), from: first, to: this.total };
  }

  private bytes(first: number, length: number): Uint8Array {
    const result = new Uint8Array(length);
    let at = this.start;
    for (const piece of this.pieces) {
      const from = Math.max(first - at, 0);
      const part = piece.subarray(from, Math.max(first + length - at, 0));
      if (part.length > 0) result.set(part, at + from - first);
      at += piece.length;
    }
    return result;
  }

  private dropFirst(bytes: number): void {
    const first = this.pieces[0] as Uint8Array;
    if (first.length <= bytes) this.pieces.shift();
    // A copy, so that the rest of the piece is not held.
    else this.pieces[0] = first.slice(bytes);
    this.held -= Math.min(first.length, bytes);
  }
}

/** How many of these bytes are whole characters of UTF-8: without the beginning of one at the end. */
function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back || bytes.length : bytes.length;
  }
  return bytes.length;
}
