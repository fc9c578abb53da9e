import { type BodyScanner, forwardedResponse, type RequestHead, type ResponseHead, scannerFor } from "@boxyard/http1";

/** How an answer gets to the client. */
export interface Answer {
  readonly head: Uint8Array;
  /** The connection to the client ends with this answer. */
  readonly closes: boolean;
  /** True once the server has sent its last byte. */
  readonly isDone: boolean;
  /** How many of the bytes belong to the answer, and what the client gets for them. Throws for malformed ones. */
  push(bytes: Buffer): { readonly taken: number; readonly out: Uint8Array };
  /** What the client gets at the end of an answer that ends with its connection, or has no body. */
  end(): Uint8Array;
}

const NOTHING = new Uint8Array(0);

/** An answer whose body passes as bytes. */
export class PassedAnswer implements Answer {
  readonly head: Uint8Array;
  readonly closes: boolean;
  private readonly scanner: BodyScanner;

  constructor(response: ResponseHead, client: Pick<RequestHead, "minor" | "keepAlive">) {
    // A client of HTTP/1.0 knows no chunks. Such clients are rare, so the connection is reset instead of decoding the answer.
    if (client.minor === 0 && response.framing.kind === "chunked") throw new Error("chunks for a client of HTTP/1.0");
    this.closes = !client.keepAlive || response.framing.kind === "close";
    this.head = forwardedResponse(response, { close: this.closes });
    this.scanner = scannerFor(response.framing);
  }

  get isDone(): boolean {
    return this.scanner.done;
  }

  push(bytes: Buffer): { taken: number; out: Uint8Array } {
    const taken = this.scanner.done ? 0 : this.scanner.take(bytes, 0);
    return { taken, out: bytes.subarray(0, taken) };
  }

  end(): Uint8Array {
    return NOTHING;
  }
}
