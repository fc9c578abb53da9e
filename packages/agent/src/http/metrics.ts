import type { HttpRoute } from "../contracts.ts";
import type { Usage } from "../metrics/usage.ts";

/** `GET /metrics`: what the sandbox uses of what it was given. */
export function metricsRoute(usage: Usage): HttpRoute {
  return {
    method: "GET",
    path: "/metrics",
    access: "token",
    handle: () => Response.json(usage.read(), { headers: { "Cache-Control": "no-store" } }),
  };
}
