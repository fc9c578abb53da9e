import { type BodyScanner, ChunkedDecoder, type ResponseHead, scannerFor } from "@boxyard/http1";

/** The body of an answer on its way to the client: where it ends, and its chunks taken apart for a client that knows none. */
export class AnswerBody {
  private readonly scanner: BodyScanner;
  private readonly decoder: ChunkedDecoder | undefined;

  /** `unchunked`: the client speaks HTTP/1.0. */
  constructor({ framing }: ResponseHead, unchunked: boolean) {
    this.scanner = scannerFor(framing);
    this.decoder = unchunked && framing.kind === "chunked" ? new ChunkedDecoder() : undefined;
  }

  get isDone(): boolean {
    return this.scanner.done;
  }

  /** Some of it is still to come, and the client may get it as it is. */
  get mayMove(): boolean {
    return !this.decoder && !this.scanner.done;
  }

  /** Bytes to come that are the body's whatever they are. */
  get certain(): number {
    return this.scanner.certain;
  }

  /** How many of these bytes are the body's. Throws when they cannot be. */
  take(bytes: Buffer): number {
    return bytes.byteLength === 0 || this.scanner.done ? 0 : this.scanner.take(bytes, 0);
  }

  /** As many bytes of the body have gone to the client without being looked at. */
  skip(count: number): void {
    this.scanner.skip(count);
  }

  /** The first `count` bytes, which are the body's, as the client gets them. */
  plain(bytes: Buffer, count: number): Buffer {
    const body = count === bytes.byteLength ? bytes : bytes.subarray(0, count);
    return this.decoder ? this.decoder.push(body) : body;
  }
}
