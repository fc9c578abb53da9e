import type { CommandOutput, OutputStream } from "./process-events.ts";

interface Text {
  readonly decoder: TextDecoder;
  /** Pieces of the record that have been looked at. */
  upTo: number;
  text: string;
}

/** Everything that a command has put out, as bytes and, on demand, as text. */
export class OutputRecord {
  readonly pieces: CommandOutput[] = [];
  private readonly texts = new Map<OutputStream, Text>();
  private ended = false;

  add(output: CommandOutput): void {
    this.pieces.push(output);
  }

  /** Nothing more comes: what is left of a character that was cut counts as text now. */
  end(): void {
    this.ended = true;
  }

  text(stream: OutputStream): string {
    const state = this.texts.get(stream) ?? { decoder: new TextDecoder(), upTo: 0, text: "" };
    this.texts.set(stream, state);
    const added: string[] = [];
    for (; state.upTo < this.pieces.length; state.upTo++) {
      const piece = this.pieces[state.upTo];
      if (piece?.stream === stream) added.push(state.decoder.decode(piece.data, { stream: true }));
    }
    // A decoder that has been flushed gives nothing more, so doing it again does no harm.
    if (this.ended) added.push(state.decoder.decode());
    if (added.length > 0) state.text += added.join("");
    return state.text;
  }
}
