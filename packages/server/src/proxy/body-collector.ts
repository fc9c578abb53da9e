import { ByteBuilder } from "@boxyard/http1";
import { tooLarge } from "./body-stream.ts";

/** Collects a body in one buffer. */
export class BodyCollector {
  private readonly bytes = new ByteBuilder();
  private readonly result = Promise.withResolvers<Buffer>();
  private maxBytes = Number.POSITIVE_INFINITY;
  private complete = false;

  constructor() {
    // A handler that never asks for the body must not leave an unhandled rejection.
    this.result.promise.catch(() => {});
  }

  get isComplete(): boolean {
    return this.complete;
  }

  /** What has come so far; a `whole` of later gets only the rest. */
  take(): Buffer {
    return this.bytes.take();
  }

  whole(maxBytes: number): Promise<Buffer> {
    this.maxBytes = maxBytes;
    this.check();
    return this.result.promise;
  }

  push(part: Buffer): void {
    if (this.bytes.byteLength > this.maxBytes) return;
    this.bytes.append(part);
    this.check();
  }

  end(): void {
    this.complete = true;
    this.check();
  }

  fail(error: unknown): void {
    this.result.reject(error);
  }

  private check(): void {
    if (this.bytes.byteLength > this.maxBytes) this.result.reject(tooLarge(this.maxBytes));
    else if (this.complete && this.maxBytes !== Number.POSITIVE_INFINITY) this.result.resolve(this.bytes.take());
  }
}
