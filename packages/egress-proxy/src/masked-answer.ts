import { type BodyScanner, ChunkedDecoder, forwardedResponse, type ResponseHead, scannerFor } from "@boxyard/http1";
import type { Answer } from "./answer.ts";
import { Masker, maskText } from "./masker.ts";

/** Fields that say something about the bytes of a body that is changed on its way. */
export const OF_BODY: ReadonlySet<string> = new Set([
  "content-length",
  "content-md5",
  "digest",
  "content-digest",
  "repr-digest",
  "accept-ranges",
  "trailer",
]);

/**
 * An answer on its way into a sandbox whose request had a secret: the secret is masked in its head and its body. The body's length changes by that, so it is
 * sent in chunks, or until the end of the connection to a client of HTTP/1.0.
 */
export class MaskedAnswer implements Answer {
  readonly head: Buffer;
  readonly closes: boolean;
  private readonly scanner: BodyScanner;
  private readonly decoder: ChunkedDecoder | undefined;
  private readonly masker: Masker;
  private readonly isChunked: boolean;

  /** Throws for a body in a coding in which nothing can be found. */
  constructor(forms: readonly Buffer[], response: ResponseHead, client: { readonly minor: 0 | 1; readonly keepAlive: boolean }) {
    const hasBody = response.framing.kind !== "none";
    const coding = response.fields.list("content-encoding").filter((name) => name !== "identity");
    if (hasBody && coding.length > 0) throw new Error("a coding that was not asked for");
    this.scanner = scannerFor(response.framing);
    this.decoder = response.framing.kind === "chunked" ? new ChunkedDecoder() : undefined;
    this.masker = new Masker(forms);
    this.isChunked = hasBody && client.minor === 1;
    this.closes = !client.keepAlive || (hasBody && !this.isChunked);
    const edit = {
      keeps: (name: string) => !OF_BODY.has(name),
      added: () => (this.isChunked && !this.decoder ? "Transfer-Encoding: chunked\r\n" : ""),
    };
    const form = { close: this.closes, unchunked: !this.isChunked, ...(hasBody && { edit }) };
    this.head = Buffer.from(maskText(forms, Buffer.from(forwardedResponse(response, form)).toString("latin1")), "latin1");
  }

  get isDone(): boolean {
    return this.scanner.done;
  }

  push(bytes: Buffer): { readonly taken: number; readonly out: Buffer } {
    const taken = this.scanner.done ? 0 : this.scanner.take(bytes, 0);
    const own = bytes.subarray(0, taken);
    const content = this.masker.push(this.decoder ? this.decoder.push(own) : own);
    return { taken, out: this.isDone ? this.last(content) : this.framed(content) };
  }

  end(): Buffer {
    return this.last(Buffer.alloc(0));
  }

  private last(content: Buffer): Buffer {
    const rest = this.framed(Buffer.concat([content, this.masker.end()]));
    return this.isChunked ? Buffer.concat([rest, Buffer.from("0\r\n\r\n")]) : rest;
  }

  private framed(content: Buffer): Buffer {
    if (content.byteLength === 0 || !this.isChunked) return content;
    return Buffer.concat([Buffer.from(`${content.byteLength.toString(16)}\r\n`), content, Buffer.from("\r\n")]);
  }
}
