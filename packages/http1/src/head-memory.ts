/** Heads that are longer are not worth their room. */
const MAX_BYTES = 2048;

/**
 * The last head that came in on one connection, with what was made of it. Who asks for the same thing again sends the same bytes, and gets
 * the same head back until its date changes: comparing bytes costs a tenth of reading them. What is kept must follow from the bytes alone.
 */
export class HeadMemory<T> {
  private bytes: Buffer | undefined;
  private made: T | undefined;
  private fieldsAt = 0;

  /** Length of the head that is remembered. */
  get byteLength(): number {
    return this.bytes?.byteLength ?? 0;
  }

  /** What was made of the head, if `bytes` begin with the same one. A head ends where its empty line is, so it can be no longer one. */
  recall(bytes: Buffer): T | undefined {
    const { bytes: known } = this;
    if (known === undefined || bytes.byteLength < known.byteLength) return undefined;
    const { byteLength } = known;
    return known.compare(bytes, 0, byteLength, 0, byteLength) === 0 ? this.made : undefined;
  }

  /** What was made of the head, if `bytes` begin with one that has the same fields, and where that one's fields begin and it ends. */
  recallFields(bytes: Buffer): { readonly made: T; readonly line: number; readonly end: number } | undefined {
    const { bytes: known, made, fieldsAt } = this;
    if (known === undefined || made === undefined) return undefined;
    const line = bytes.indexOf("\r\n", 0, "latin1");
    const end = line + known.byteLength - fieldsAt;
    if (line < 0 || end > bytes.byteLength || known.compare(bytes, line, end, fieldsAt, known.byteLength) !== 0) return undefined;
    return { made, line, end };
  }

  /** `end`: just behind the empty line. The bytes are copied, since they are part of a larger piece. */
  remember(bytes: Buffer, end: number, made: T): void {
    const fits = end <= MAX_BYTES;
    this.bytes = fits ? Buffer.from(bytes.subarray(0, end)) : undefined;
    this.made = fits ? made : undefined;
    this.fieldsAt = this.bytes?.indexOf("\r\n", 0, "latin1") ?? 0;
  }
}
