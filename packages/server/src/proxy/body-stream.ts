import { AppError } from "@boxyard/core";

/** How a body is held back and let come. */
export interface BodyFlow {
  pause(): void;
  resume(): void;
}

/** At most so much, and one read of the connection, is held in memory while the reader is slow: then the client has to wait. */
const MAX_PENDING_BYTES = 1 << 20;

export const tooLarge = (maxBytes: number) =>
  new AppError("resource_exhausted", `The body is larger than ${maxBytes} bytes`, { reason: "body_too_large" });

/** A request's body as a stream, which takes more from the client only when its reader has room. */
export class BodyStream {
  readonly readable: ReadableStream<Uint8Array>;
  private readonly maxBytes: number;
  private readonly flow: BodyFlow;
  private controller!: ReadableStreamDefaultController<Uint8Array>;
  private taken = 0;
  private isOver = false;

  constructor(maxBytes: number, flow: BodyFlow) {
    this.maxBytes = maxBytes;
    this.flow = flow;
    this.readable = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller;
        },
        pull: () => this.flow.resume(),
        cancel: () => {
          this.isOver = true;
        },
      },
      { highWaterMark: MAX_PENDING_BYTES, size: (bytes) => bytes?.byteLength ?? 0 },
    );
  }

  push(bytes: Uint8Array): void {
    if (this.isOver || bytes.byteLength === 0) return;
    this.taken += bytes.byteLength;
    if (this.taken > this.maxBytes) {
      this.fail(tooLarge(this.maxBytes));
      return;
    }
    this.controller.enqueue(bytes);
    if ((this.controller.desiredSize ?? 0) <= 0) this.flow.pause();
  }

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.controller.close();
  }

  fail(error: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    this.controller.error(error);
  }
}
