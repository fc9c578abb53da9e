import type { HttpRoute } from "../contracts.ts";
import type { LogRing } from "../log-ring.ts";

/** `GET /boxyard/log`: the last lines of the agent's own log, oldest first. */
export function logRoute(log: LogRing): HttpRoute {
  return {
    method: "GET",
    path: "/boxyard/log",
    access: "token",
    handle: () => Response.json(log.recent(), { headers: { "Cache-Control": "no-store" } }),
  };
}
