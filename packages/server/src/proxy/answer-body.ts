import { type BodyScanner, ChunkedDecoder, forwardedResponse, type ResponseHead, scannerFor } from "@boxyard/http1";

/** The body of an answer on its way to the client: finds its end, and decodes its chunks for a client of HTTP/1.0, which knows no chunks. */
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

  /** True while more of the body is to come and the kernel may carry it to the client unchanged. */
  get mayMove(): boolean {
    return !this.decoder && !this.scanner.done;
  }

  /** How many of the next bytes belong to the body without a look at them. */
  get certain(): number {
    return this.scanner.certain;
  }

  /** How many of these bytes belong to the body. Throws for bytes that break its framing. */
  take(bytes: Buffer): number {
    return bytes.byteLength === 0 || this.scanner.done ? 0 : this.scanner.take(bytes, 0);
  }

  /** Counts bytes of the body that went to the client without `take`. */
  skip(count: number): void {
    this.scanner.skip(count);
  }

  /** The first `count` of these bytes, which belong to the body, as the client gets them. */
  plain(bytes: Buffer, count: number): Buffer {
    const body = count === bytes.byteLength ? bytes : bytes.subarray(0, count);
    return this.decoder ? this.decoder.push(body) : body;
  }
}

/** The head of an answer that passes as it is; made once for equal heads. */
export function forwardedOf(response: ResponseHead): Uint8Array {
  response.derived.forwarded ??= forwardedResponse(response, {});
  return response.derived.forwarded;
}
