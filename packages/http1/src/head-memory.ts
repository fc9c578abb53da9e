/** Longer heads are not kept. */
const MAX_BYTES = 2048;

/**
 * The last head on one connection, with the value that was made of it. A client that repeats a request sends the same bytes, and gets the same head back
 * until its date changes; comparing bytes costs a tenth of parsing them. The value must depend on the bytes alone.
 */
export class HeadMemory<T> {
  private bytes: Buffer | undefined;
  private made: T | undefined;
  private fieldsAt = 0;

  /** Length of the remembered head; 0 without one. */
  get byteLength(): number {
    return this.bytes?.byteLength ?? 0;
  }

  /** The value of the remembered head, if `bytes` begin with it. (Bytes that begin with a whole head cannot be a longer head, which ends at its empty line.) */
  recall(bytes: Buffer): T | undefined {
    const { bytes: known } = this;
    if (known === undefined || bytes.byteLength < known.byteLength) return undefined;
    const { byteLength } = known;
    return known.compare(bytes, 0, byteLength, 0, byteLength) === 0 ? this.made : undefined;
  }

  /** The value of the remembered head, if `bytes` begin with a head with the same fields; `line`: end of its first line, `end`: end of the head. */
  recallFields(bytes: Buffer): { readonly made: T; readonly line: number; readonly end: number } | undefined {
    const { bytes: known, made, fieldsAt } = this;
    if (known === undefined || made === undefined) return undefined;
    const line = bytes.indexOf("\r\n", 0, "latin1");
    const end = line + known.byteLength - fieldsAt;
    if (line < 0 || end > bytes.byteLength || known.compare(bytes, line, end, fieldsAt, known.byteLength) !== 0) return undefined;
    return { made, line, end };
  }

  /** Keeps a head and its value. `end`: just behind the empty line. Copies the bytes, because they are part of a larger buffer. */
  remember(bytes: Buffer, end: number, made: T): void {
    const fits = end <= MAX_BYTES;
    this.bytes = fits ? Buffer.from(bytes.subarray(0, end)) : undefined;
    this.made = fits ? made : undefined;
    this.fieldsAt = this.bytes?.indexOf("\r\n", 0, "latin1") ?? 0;
  }
}
