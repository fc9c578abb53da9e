import { envelope, FLAG_END } from "@boxyard/spec";
import type { MessageTable } from "@boxyard/spec/agent";
import { EncodedEnvelope } from "../contracts.ts";
import { after } from "../timers.ts";
import type { CallTrace } from "../trace.ts";
import { encodeMessage } from "./codec.ts";
import { endOfStream } from "./errors.ts";

export interface ServerStreamOptions<O> {
  readonly output: MessageTable<O>;
  readonly keepalive: O;
  readonly keepaliveMs: number;
  /** Aborting ends the stream with the reason as its error, also while the source waits. */
  readonly signal: AbortSignal;
  /** Is sent with the end of the stream. */
  readonly trace?: CallTrace | undefined;
  /** Called once, however the stream ends. */
  onEnd(): void;
  /** Called when the client leaves before the end. */
  onLeave(): void;
  /** Called with an error of the handler, before the client gets it. */
  onError(error: unknown): void;
}

/**
 * The body of a streaming answer. The next message is requested when the client has taken the one before, so that a slow client slows its source and
 * nothing else; each is sent at once. The last envelope ends the stream, with the error if there is one.
 */
export function serverStreamBody<O>(
  messages: AsyncIterable<O | EncodedEnvelope>,
  options: ServerStreamOptions<O>,
): ReadableStream<Uint8Array> {
  const iterator = messages[Symbol.asyncIterator]();
  const keepalive = new Keepalive(options.keepaliveMs);
  let isOver = false;
  const end = () => {
    isOver = true;
    keepalive.stop();
    options.signal.removeEventListener("abort", onAbort);
    options.onEnd();
  };
  let onAbort = () => {};
  const endWith = (controller: ReadableStreamDefaultController<Uint8Array>, error?: unknown) => {
    if (isOver) return;
    end();
    controller.enqueue(envelope(FLAG_END, endOfStream(error, options.trace?.trailer())));
    controller.close();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        onAbort = () => {
          endWith(controller, options.signal.reason);
          stopSource(iterator, options);
        };
        if (options.signal.aborted) return onAbort();
        options.signal.addEventListener("abort", onAbort, { once: true });
        const ping = envelope(0, encodeMessage(options.output, options.keepalive));
        keepalive.start(() => {
          // For a client that receives nothing keepalives would only fill memory.
          if ((controller.desiredSize ?? 0) >= 0) controller.enqueue(ping);
        });
      },
      async pull(controller) {
        try {
          const { done, value } = await iterator.next();
          if (isOver) return;
          if (done) return endWith(controller);
          keepalive.touch();
          controller.enqueue(value instanceof EncodedEnvelope ? value.bytes : envelope(0, encodeMessage(options.output, value)));
        } catch (error) {
          if (isOver) return;
          options.onError(error);
          endWith(controller, error);
        }
      },
      cancel() {
        if (isOver) return;
        end();
        options.onLeave();
        stopSource(iterator, options);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Ends the source. */
function stopSource(iterator: AsyncIterator<unknown>, options: { onError(error: unknown): void }): void {
  void iterator.return?.()?.catch(options.onError);
}

/** Calls `send` when nothing was sent for the interval. A message only notes its time, which the timer checks when it fires. */
class Keepalive {
  private readonly intervalMs: number;
  private lastSentAt = 0;
  private cancel = () => {};

  constructor(intervalMs: number) {
    this.intervalMs = intervalMs;
  }

  start(send: () => void): void {
    this.touch();
    this.arm(this.intervalMs, send);
  }

  touch(): void {
    this.lastSentAt = performance.now();
  }

  stop(): void {
    this.cancel();
  }

  private arm(ms: number, send: () => void): void {
    this.cancel = after(ms, () => {
      const left = this.lastSentAt + this.intervalMs - performance.now();
      if (left > 1) return this.arm(left, send);
      send();
      this.touch();
      this.arm(this.intervalMs, send);
    });
  }
}
