const LEAST_BYTES = 512;

/** Collects pieces in one buffer that doubles its size, so that the cost per byte is the same for pieces of any size. */
export class ByteBuilder {
  private bytes: Buffer = Buffer.alloc(0);
  private used = 0;

  get byteLength(): number {
    return this.used;
  }

  /** Memory in bytes, at most twice the bytes that were appended, but at least 512. */
  get capacity(): number {
    return this.bytes.byteLength;
  }

  append(piece: Uint8Array): void {
    const needed = this.used + piece.byteLength;
    if (needed > this.bytes.byteLength) {
      const larger = Buffer.allocUnsafeSlow(Math.max(LEAST_BYTES, needed, Math.min(needed, this.bytes.byteLength) * 2));
      larger.set(this.view());
      this.bytes = larger;
    }
    this.bytes.set(piece, this.used);
    this.used = needed;
  }

  /** The bytes so far; valid until the next `append`. */
  view(): Buffer {
    return this.bytes.subarray(0, this.used);
  }

  /** Returns the bytes, which the caller may keep, and empties the builder. */
  take(): Buffer {
    const all = this.view();
    this.bytes = Buffer.alloc(0);
    this.used = 0;
    return all;
  }
}
