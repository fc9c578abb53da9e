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
  /** Ends the stream with its reason as the error, also while the source waits. */
  readonly signal: AbortSignal;
  /** Goes out with the end of the stream. */
  readonly trace?: CallTrace | undefined;
  /** Called once, however the stream ends. */
  onEnd(): void;
  /** Called when the client leaves before the end. */
  onLeave(): void;
  /** Called with what a handler threw, before it is told to the client. */
  onError(error: unknown): void;
}

/**
 * Messages as the body of a streaming answer. One envelope is asked for when the client has taken the one before, so a slow reader
 * slows its source and nothing else; each goes out at once. The last envelope tells the end, with the error if there is one.
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
          letGo(iterator, options);
        };
        if (options.signal.aborted) return onAbort();
        options.signal.addEventListener("abort", onAbort, { once: true });
        const ping = envelope(0, encodeMessage(options.output, options.keepalive));
        keepalive.start(() => {
          // A client that takes nothing needs no proof of life, and must not pile them up here.
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
        letGo(iterator, options);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Tells the source that nobody wants more. */
function letGo(iterator: AsyncIterator<unknown>, options: { onError(error: unknown): void }): void {
  void iterator.return?.()?.catch(options.onError);
}

/** Fires when nothing was sent for the interval. A message only notes the time; the timer looks at it when it is due. */
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
