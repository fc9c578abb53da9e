import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { otlpHeaders } from "../otlp-headers.ts";
import { TestServer } from "../testing/test-server.ts";
import { parseTraceparent } from "./trace-context.ts";
import { Tracer } from "./tracer.ts";

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code: number };
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
}

/** A collector that keeps what it gets. */
class Collector {
  readonly spans: SentSpan[] = [];
  readonly requests: Request[] = [];
  answer: () => Response | Promise<Response> = () => Response.json({});
  private readonly server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => this.take(request) });

  get url(): string {
    return `http://127.0.0.1:${this.server.port}`;
  }

  private async take(request: Request): Promise<Response> {
    this.requests.push(request);
    const body = (await request.json()) as { resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[] };
    this.spans.push(...body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
    return this.answer();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop(true);
  }
}

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";

let collector: Collector;
beforeEach(() => {
  collector = new Collector();
});
afterEach(() => collector[Symbol.asyncDispose]());

describe("a server with a collector", () => {
  test("sends a span of a request in the caller's trace, of the changes of sandboxes and of their steps", async () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, OTEL_EXPORTER_OTLP_HEADERS: "x-key=a%20b" };
    const s = await TestServer.start({ env });
    const created = await s.call("POST", "/v2/sandboxes", { templateID: "base" }, { traceparent: `00-${TRACE}-${PARENT}-01` });
    await s.call("GET", "/v2/sandboxes", undefined, { traceparent: `00-${TRACE}-${PARENT}-00` });
    await s.call("GET", "/no-such-route");
    await s[Symbol.asyncDispose]();
    expect(created.status).toBe(201);
    const request = collector.spans.find(({ name }) => name === "POST /v2/sandboxes");
    expect(request).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, kind: 2, status: { code: 0 } });
    expect(request?.attributes).toContainEqual({ key: "http.response.status_code", value: { doubleValue: 201 } });
    expect(Number(request?.endTimeUnixNano)).toBeGreaterThan(Number(request?.startTimeUnixNano));
    const create = collector.spans.find(({ name }) => name === "create");
    expect(create).toMatchObject({ traceId: TRACE, kind: 1 });
    expect(create?.parentSpanId).toBe(request?.spanId ?? "none");
    const steps = collector.spans.filter(({ parentSpanId }) => parentSpanId === create?.spanId);
    expect(steps.length).toBeGreaterThan(3);
    expect(steps.every(({ name, traceId }) => name.startsWith("create ") && traceId === TRACE)).toBe(true);
    // A caller who wants no trace gets none; a caller without a trace begins one.
    expect(collector.spans.some(({ name }) => name === "GET /v2/sandboxes")).toBe(false);
    const own = collector.spans.find(({ name }) => name === "GET");
    expect([own?.traceId === TRACE, own?.parentSpanId]).toEqual([false, undefined]);
    const [sent] = collector.requests;
    expect([new URL(sent?.url ?? "").pathname, sent?.headers.get("x-key")]).toEqual(["/v1/traces", "a b"]);
    expect(JSON.stringify(collector.spans)).not.toContain(created.body.envdAccessToken);
  });

  test.each([
    ["refuses", () => new Response("no", { status: 500 })],
    ["does not answer", () => new Promise<Response>(() => {})],
  ])("that %s works as without one", async (_what, answer) => {
    collector.answer = answer;
    await using s = await TestServer.start({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } });
    const { sandboxID } = await s.create();
    for (let i = 0; i < 50; i++) expect((await s.call("GET", `/sandboxes/${sandboxID}`)).status).toBe(200);
    expect((await s.call("DELETE", `/sandboxes/${sandboxID}`)).status).toBe(204);
  });
});

const span = (name: string) => ({
  ...{ traceId: TRACE, spanId: PARENT, name, kind: "internal" as const, from: 1, until: 2, attributes: {}, isOk: true },
});

test("what waits for the collector is bounded, and what comes later is sent again", async () => {
  const tracer = new Tracer({ endpoint: collector.url, headers: {}, clock: systemClock, logger: silentLogger });
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  collector.answer = () => gate.then(() => Response.json({}));
  for (let i = 0; i < 10_000; i++) tracer.add(span(`s${i}`));
  open();
  await tracer.close();
  // What was under way, and a full queue.
  expect(collector.spans.length).toBe(512 + 4096);
  collector.answer = () => Response.json({});
  tracer.add(span("later"));
  await tracer.close();
  expect(collector.spans.at(-1)?.name).toBe("later");
});

test.each([
  [`00-${TRACE}-${PARENT}-01`, { traceId: TRACE, spanId: PARENT }],
  [`00-${TRACE}-${PARENT}-03`, { traceId: TRACE, spanId: PARENT }],
  [`0a-${TRACE}-${PARENT}-01-more`, { traceId: TRACE, spanId: PARENT }],
  [`00-${TRACE}-${PARENT}-00`, "unsampled"],
  [`00-${TRACE}-${PARENT}-01-more`, undefined],
  [`ff-${TRACE}-${PARENT}-01`, undefined],
  [`00-${"0".repeat(32)}-${PARENT}-01`, undefined],
  [`00-${TRACE}-${"0".repeat(16)}-01`, undefined],
  [`00-${TRACE.toUpperCase()}-${PARENT}-01`, undefined],
  ["", undefined],
  [null, undefined],
])("traceparent %p", (text, expected) => {
  expect(parseTraceparent(text)).toEqual(expected as never);
});

test("headers of the setting", () => {
  expect(otlpHeaders("a=1, b = x%3Dy ,c=%,=d,e")).toEqual({ a: "1", b: "x=y", c: "%" });
});
