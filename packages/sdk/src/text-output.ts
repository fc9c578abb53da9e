/** Collects a stream of bytes as text. A character cut between two pieces comes out whole. */
export class TextOutput {
  private readonly decoder = new TextDecoder();
  private readonly retain: boolean;
  private pieces: string[] = [];

  constructor(retain: boolean) {
    this.retain = retain;
  }

  /** The text that is complete with this piece; without a piece, what is left at the end. */
  decode(data?: Uint8Array): string {
    const text = data ? this.decoder.decode(data, { stream: true }) : this.decoder.decode();
    if (this.retain && text) this.pieces.push(text);
    return text;
  }

  get text(): string {
    if (this.pieces.length > 1) this.pieces = [this.pieces.join("")];
    return this.pieces[0] ?? "";
  }
}
