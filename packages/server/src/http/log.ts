import type { Clock } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { Instruments } from "../prometheus/instruments.ts";
import type { ApiHandler } from "../proxy/api-call.ts";
import { traced } from "../tracing/traced.ts";
import type { Tracer } from "../tracing/tracer.ts";
import type { AccessLog } from "./access-log.ts";

/** Header with the id of a request. Answers have it, and so does the request as handlers see it; a value that the client has sent is replaced. */
export const REQUEST_ID = "X-Request-Id";

interface LoggedParts {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly instruments: Pick<Instruments, "request">;
  readonly accessLog?: AccessLog | undefined;
  /** Makes a span of each request, if spans are wanted. */
  readonly tracer?: Tracer | undefined;
  /** Id of this run of the server. */
  readonly run: string;
}

/**
 * Gives every request an id, which its answer repeats, and logs one line for the request, without query, headers and bodies.
 * Answers also name this run of the server, so that a client whose stream was cut can tell a restart from a bad network.
 */
export function logged(handler: ApiHandler, { logger, clock, instruments, accessLog, tracer, run }: LoggedParts): ApiHandler {
  return async (request, call) => {
    const startedAt = clock.monotonic();
    const requestId = crypto.randomUUID();
    request.headers.set(REQUEST_ID, requestId);
    const response = await (tracer ? traced(tracer, handler, request, call) : handler(request, call));
    response.headers.set(REQUEST_ID, requestId);
    response.headers.set("X-Server-Run", run);
    const ms = Math.round((clock.monotonic() - startedAt) * 100) / 100;
    instruments.request(request.method, response.status, ms);
    accessLog?.write({ ...call.noted, method: request.method, status: response.status, ms, address: call.address, requestId });
    const line = { requestId, method: request.method, path: new URL(request.url).pathname.slice(0, 200), status: response.status, ms };
    logger[request.method === "GET" && response.status < 400 ? "debug" : "info"](line, "request");
    return response;
  };
}
