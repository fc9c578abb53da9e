import type { HttpRoute } from "../contracts.ts";
import type { LogRing } from "../log-ring.ts";

/** `GET /boxyard/log`: what the agent noted of itself, oldest first. */
export function logRoute(log: LogRing): HttpRoute {
  return {
    method: "GET",
    path: "/boxyard/log",
    access: "token",
    handle: () => Response.json(log.recent(), { headers: { "Cache-Control": "no-store" } }),
  };
}
