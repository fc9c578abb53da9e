import { ENVELOPE_HEADER_BYTES, envelopeLength } from "@boxyard/spec";

/** The agent's own messages hold 64 KiB of output, in base64, at most. */
export const MAX_MESSAGE_BYTES = 1 << 20;

export interface Message {
  readonly flags: number;
  readonly bytes: Uint8Array;
}

/**
 * Splits a stream of bytes into Connect's messages (flags, length in 32 bits, that many bytes), in linear time for chunks of any size: every byte is
 * copied once.
 */
export class MessageCutter {
  private readonly header = new Uint8Array(ENVELOPE_HEADER_BYTES);
  private headerLength = 0;
  private body: Uint8Array | undefined;
  private bodyLength = 0;

  /** The messages that end in `chunk`. `onTooLarge` makes the error for one that says it is larger than allowed, before it comes. */
  *push(chunk: Uint8Array, onTooLarge: () => Error): Generator<Message, void> {
    for (let at = 0; at < chunk.byteLength || this.isWhole; ) {
      if (!this.body) {
        at += this.fill(this.header, this.headerLength, chunk, at, (length) => (this.headerLength = length));
        if (this.headerLength < ENVELOPE_HEADER_BYTES) return;
        const length = envelopeLength(this.header);
        if (length > MAX_MESSAGE_BYTES) throw onTooLarge();
        this.body = new Uint8Array(length);
        this.bodyLength = 0;
      }
      at += this.fill(this.body, this.bodyLength, chunk, at, (length) => (this.bodyLength = length));
      if (!this.isWhole) return;
      const message = { flags: this.header[0] ?? 0, bytes: this.body };
      this.body = undefined;
      this.headerLength = 0;
      yield message;
    }
  }

  private get isWhole(): boolean {
    return this.body !== undefined && this.bodyLength === this.body.byteLength;
  }

  /** Copies what fits, and returns how much that was. */
  private fill(target: Uint8Array, length: number, chunk: Uint8Array, at: number, grow: (length: number) => void): number {
    const count = Math.min(target.byteLength - length, chunk.byteLength - at);
    target.set(chunk.subarray(at, at + count), length);
    grow(length + count);
    return count;
  }
}
