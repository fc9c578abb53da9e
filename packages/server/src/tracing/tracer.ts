import { type Clock, later, TimeLimit, VERSION } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { RunTimes, Timings } from "../prometheus/instruments.ts";
import { exportRequest, type Span } from "./otlp.ts";
import { childOf, currentSpan, type TraceContext } from "./trace-context.ts";

export interface TracerOptions {
  /** Address of the collector, without `/v1/traces`. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Spans that wait for the collector; further ones are dropped. */
const MAX_QUEUED = 4096;
const BATCH = 512;
const FLUSH_MS = 2000;
const SEND_MS = 5000;
/** How long the server's end waits for the last spans. */
const LAST_MS = 2000;

/**
 * Sends spans to a collector, in the background. A collector that is slow or away costs spans and nothing else: the queue is bounded, one request is under way
 * at a time, and what it had is not sent again.
 */
export class Tracer implements Timings {
  private readonly options: TracerOptions;
  private queue: Span[] = [];
  private dropped = 0;
  private sending: Promise<void> | undefined;
  private cancelFlush: (() => void) | undefined;
  /** Wall time of the clock's monotonic zero. */
  private readonly zero: number;
  private isFailing = false;

  constructor(options: TracerOptions) {
    this.options = options;
    this.zero = options.clock.now() - options.clock.monotonic();
  }

  /** Wall time with fractions. */
  now(): number {
    return this.zero + this.options.clock.monotonic();
  }

  /** Adds a span that has ended. */
  add(span: Span): void {
    if (this.queue.length >= MAX_QUEUED) {
      this.dropped++;
      return;
    }
    this.queue.push(span);
    if (this.queue.length >= BATCH) this.flush();
    else this.flushLater();
  }

  /** A change of a sandbox as a span of the current request, with a span for each of its steps. Nothing without a request that is traced. */
  begin(transition: string): RunTimes | undefined {
    const parent = currentSpan();
    if (!parent) return undefined;
    const own = childOf(parent);
    const span = (name: string, ms: number, context: TraceContext, parentSpanId: string, isOk: boolean) => {
      const until = this.now();
      this.add({ ...context, parentSpanId, name, kind: "internal", from: until - ms, until, attributes: {}, isOk });
    };
    return {
      step: (name, ms) => span(`${transition} ${name}`, ms, childOf(own), own.spanId, true),
      end: (ms, isOk) => span(transition, ms, own, parent.spanId, isOk),
    };
  }

  /** Sends what waits, and resolves when that is done or has taken two seconds. */
  async close(): Promise<void> {
    const late = new AbortController();
    const all = async () => {
      while ((this.queue.length > 0 || this.sending) && !late.signal.aborted) {
        this.flush();
        await this.sending;
      }
    };
    const limit = this.options.clock.sleep(LAST_MS, late.signal).catch(() => {});
    await Promise.race([all(), limit]);
    late.abort();
    this.cancelFlush?.();
  }

  private flush(): void {
    this.cancelFlush?.();
    this.cancelFlush = undefined;
    if (this.sending || this.queue.length === 0) return;
    const spans = this.queue.splice(0, BATCH);
    this.sending = this.send(spans).finally(() => {
      this.sending = undefined;
      if (this.queue.length >= BATCH) this.flush();
      else if (this.queue.length > 0) this.flushLater();
    });
  }

  private flushLater(): void {
    this.cancelFlush ??= later(FLUSH_MS, () => this.flush(), this.options.clock);
  }

  private async send(spans: readonly Span[]): Promise<void> {
    const { endpoint, headers, clock, logger } = this.options;
    using limit = new TimeLimit(SEND_MS, clock);
    const lost = this.dropped;
    try {
      const response = await fetch(`${endpoint}/v1/traces`, {
        method: "POST",
        headers: { ...headers, "Content-Type": "application/json" },
        body: JSON.stringify(exportRequest(spans, { "service.name": "boxyard", "service.version": VERSION })),
        redirect: "manual",
        signal: limit.signal,
      });
      void response.body?.cancel().catch(() => {});
      if (!response.ok) throw new Error(`status ${response.status}`);
      if (this.isFailing || lost > 0) logger.info({ lost }, "the collector takes spans again");
      this.isFailing = false;
      this.dropped -= lost;
    } catch (error) {
      this.dropped += spans.length;
      // Once for each time that it is away.
      if (!this.isFailing) logger.warn({ err: error, endpoint }, "the collector took no spans; they are dropped until it does");
      this.isFailing = true;
    }
  }
}

/** Gives each run of a transition to all. */
export function allOf(timings: readonly Timings[]): Timings {
  return {
    begin(transition, owner) {
      const runs = timings.map((one) => one.begin(transition, owner));
      return {
        step: (name, ms) => runs.forEach((run) => void run?.step(name, ms)),
        end: (ms, isOk) => runs.forEach((run) => void run?.end(ms, isOk)),
      };
    },
  };
}
