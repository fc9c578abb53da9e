import type { ApiCall, ApiHandler } from "../proxy/api-call.ts";
import { childOf, inSpan, parseTraceparent } from "./trace-context.ts";
import type { Tracer } from "./tracer.ts";

/**
 * Answers a request to the platform API in a span: a child of the caller's (`traceparent`), or the first of a trace. The span ends with the head of the answer. A
 * request of a caller who says that nobody wants the trace is answered without.
 */
export async function traced(tracer: Tracer, handler: ApiHandler, request: Request, call: ApiCall): Promise<Response> {
  const parent = parseTraceparent(request.headers.get("traceparent"));
  if (parent === "unsampled") return handler(request, call);
  const own = childOf(parent);
  const from = tracer.now();
  const response = await inSpan(own, () => handler(request, call));
  const { route, team } = call.noted;
  const name = route === undefined ? request.method : `${request.method} ${route}`;
  const attributes = {
    "http.request.method": request.method,
    "http.response.status_code": response.status,
    ...(route !== undefined && { "http.route": route }),
    ...(team !== undefined && { "boxyard.team": team }),
  };
  const span = { ...own, parentSpanId: parent?.spanId, name, kind: "server", from, until: tracer.now(), attributes } as const;
  tracer.add({ ...span, isOk: response.status < 500 });
  return response;
}
