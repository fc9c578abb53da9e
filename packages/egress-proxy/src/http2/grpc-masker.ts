import { Masker } from "../masker.ts";

/** Before each message: whether it is compressed, and its length. */
const HEAD_BYTES = 5;
const COMPRESSED = 1;

/** Whether an answer of this type is a stream of messages, each with its length before it. */
export const isGrpc = (contentType: string): boolean => /^application\/grpc(?!-web-text)/i.test(contentType);

/**
 * Keeps secrets out of a stream of gRPC. What waits is let through at the end of each message, for its receiver may have to answer before the next one comes. A
 * message with a secret would have another length than it says, so the answer ends there: `push` throws, as it does for a compressed message.
 */
export class GrpcMasker {
  private readonly forms: readonly Buffer[];
  private masker: Masker;
  private head = Buffer.alloc(0);
  /** Bytes of the message that are still to come, and how many of them more came out than went in. */
  private left = 0;
  private surplus = 0;

  constructor(forms: readonly Buffer[]) {
    this.forms = forms;
    this.masker = new Masker(forms);
  }

  push(bytes: Buffer): Buffer {
    const parts: Buffer[] = [];
    for (let at = 0; at < bytes.byteLength; ) {
      const own = bytes.subarray(at, at + (this.left > 0 ? this.left : HEAD_BYTES - this.head.byteLength));
      at += own.byteLength;
      parts.push(this.left > 0 ? this.message(own) : this.begin(own));
    }
    return Buffer.concat(parts);
  }

  /** What waits of a message that the server has not ended. */
  end(): Buffer {
    return this.masker.end();
  }

  private begin(bytes: Buffer): Buffer {
    this.head = Buffer.concat([this.head, bytes]);
    if (this.head.byteLength < HEAD_BYTES) return Buffer.alloc(0);
    const { head } = this;
    if (((head[0] ?? 0) & COMPRESSED) !== 0) throw new Error("a coding that was not asked for");
    this.head = Buffer.alloc(0);
    this.left = head.readUInt32BE(1);
    this.masker = new Masker(this.forms);
    return head;
  }

  private message(bytes: Buffer): Buffer {
    this.left -= bytes.byteLength;
    const passed = this.masker.push(bytes);
    const out = this.left > 0 ? passed : Buffer.concat([passed, this.masker.end()]);
    this.surplus += out.byteLength - bytes.byteLength;
    if (this.left === 0 && this.surplus !== 0) throw new Error("a message with a secret");
    return out;
  }
}
