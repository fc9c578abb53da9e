const LEAST_BYTES = 512;

/** Bytes that come in pieces, in one buffer that doubles: a peer that sends one byte at a time costs no more than one that sends all at once. */
export class ByteBuilder {
  private bytes: Buffer = Buffer.alloc(0);
  private used = 0;

  get byteLength(): number {
    return this.used;
  }

  /** Memory that is held, at most twice what has come. */
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

  /** What has come so far, until the next `append`. */
  view(): Buffer {
    return this.bytes.subarray(0, this.used);
  }

  /** What has come, for the caller to keep; from here on this one is empty. */
  take(): Buffer {
    const all = this.view();
    this.bytes = Buffer.alloc(0);
    this.used = 0;
    return all;
  }
}
