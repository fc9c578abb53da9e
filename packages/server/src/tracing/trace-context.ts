import { AsyncLocalStorage } from "node:async_hooks";

/** Where a span belongs: W3C Trace Context, without its state. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Of the current span, 16 hexadecimal digits. */
  readonly spanId: string;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;

/**
 * The caller's context in a `traceparent` header; undefined for a header that is not valid; `unsampled` when the caller says that nobody wants this trace.
 */
export function parseTraceparent(text: string | null | undefined): TraceContext | "unsampled" | undefined {
  const [, version, traceId = "", spanId = "", flags = "", more] = TRACEPARENT.exec(text?.slice(0, 200) ?? "") ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return Number.parseInt(flags, 16) & SAMPLED ? { traceId, spanId } : "unsampled";
}

const randomHex = (bytes: number) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex");

/** The context of a new span: in its parent's trace, or in a trace of its own. */
export const childOf = (parent: TraceContext | undefined): TraceContext => ({
  traceId: parent?.traceId ?? randomHex(16),
  spanId: randomHex(8),
});

const current = new AsyncLocalStorage<TraceContext>();

/** The span in which the caller works; undefined outside of `inSpan`. */
export const currentSpan = (): TraceContext | undefined => current.getStore();

/** Runs `work` in a span, also its asynchronous parts. */
export const inSpan = <T>(context: TraceContext, work: () => T): T => current.run(context, work);
