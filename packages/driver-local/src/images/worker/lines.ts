/** Splits a stream into lines. Only for the output of our own processes, because the length of a line is not bounded. */
export class Lines {
  private readonly decoder = new TextDecoder();
  private rest = "";

  /** The lines that `bytes` completes. */
  push(bytes: Uint8Array): string[] {
    const lines = (this.rest + this.decoder.decode(bytes, { stream: true })).split("\n");
    this.rest = lines.pop() ?? "";
    return lines;
  }
}
