import type { Clock } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { ApiHandler } from "../proxy/api-exchange.ts";

/**
 * Gives every request an id, which the answer carries too, and writes one line for it. Neither query nor headers nor bodies are logged.
 * Answers also name this run of the server, so that a client whose stream was cut can tell a restart from a bad network.
 */
export function logged(handler: ApiHandler, logger: Logger, clock: Clock): ApiHandler {
  const run = crypto.randomUUID();
  return async (request) => {
    const startedAt = clock.monotonic();
    const requestId = crypto.randomUUID();
    const response = await handler(request);
    response.headers.set("X-Request-Id", requestId);
    response.headers.set("X-Server-Run", run);
    const ms = Math.round((clock.monotonic() - startedAt) * 100) / 100;
    const line = { requestId, method: request.method, path: new URL(request.url).pathname.slice(0, 200), status: response.status, ms };
    logger[request.method === "GET" && response.status < 400 ? "debug" : "info"](line, "request");
    return response;
  };
}
