/** Puts lines together from pieces of a stream. Only for what our own processes write: a line may be of any length. */
export class Lines {
  private readonly decoder = new TextDecoder();
  private rest = "";

  /** The lines that are whole by now. */
  push(bytes: Uint8Array): string[] {
    const lines = (this.rest + this.decoder.decode(bytes, { stream: true })).split("\n");
    this.rest = lines.pop() ?? "";
    return lines;
  }
}
