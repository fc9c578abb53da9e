import type { HttpRoute } from "../contracts.ts";
import type { Usage } from "../metrics/usage.ts";

/** `GET /metrics`: resource usage and limits of the sandbox. */
export function metricsRoute(usage: Usage): HttpRoute {
  return {
    method: "GET",
    path: "/metrics",
    access: "token",
    handle: () => Response.json(usage.read(), { headers: { "Cache-Control": "no-store" } }),
  };
}
