import { VERSION } from "@boxyard/core";

/** One ended span. Times are milliseconds since 1970, with fractions. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string | undefined;
  readonly name: string;
  readonly kind: "internal" | "server";
  readonly from: number;
  readonly until: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly isOk: boolean;
}

const KINDS = { internal: 1, server: 2 } as const;
const STATUS = { unset: 0, error: 2 } as const;

/** A text, since the numbers have more digits than JSON's. */
const nanos = (ms: number) => `${BigInt(Math.round(ms * 1000)) * 1000n}`;
const attributesOf = (attributes: Span["attributes"]) =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === "number" ? { doubleValue: value } : { stringValue: value },
  }));

/** Body of `POST /v1/traces`: OTLP 1.0 as JSON (opentelemetry-proto, `ExportTraceServiceRequest`). */
export function exportRequest(spans: readonly Span[], resource: Readonly<Record<string, string>>): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: "boxyard", version: VERSION }, spans: spans.map(spanOf) }],
      },
    ],
  };
}

function spanOf({ traceId, spanId, parentSpanId, name, kind, from, until, attributes, isOk }: Span): object {
  return {
    traceId,
    spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanos(from),
    endTimeUnixNano: nanos(Math.max(from, until)),
    attributes: attributesOf(attributes),
    status: { code: isOk ? STATUS.unset : STATUS.error },
  };
}
