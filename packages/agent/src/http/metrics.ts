import type { HttpRoute } from "../contracts.ts";
import type { Usage } from "../metrics/usage.ts";

/** Milliseconds since the last output of a command, for the server, which ends idle sandboxes; absent before the first output. */
const OUTPUT_AGE = "X-Output-Age-Ms";

/** `GET /metrics`: resource usage and limits of the sandbox. */
export function metricsRoute(usage: Usage, outputAgeMs: () => number | undefined): HttpRoute {
  return {
    method: "GET",
    path: "/metrics",
    access: "token",
    handle: () => {
      const age = outputAgeMs();
      return Response.json(usage.read(), {
        headers: { "Cache-Control": "no-store", ...(age !== undefined && { [OUTPUT_AGE]: String(age) }) },
      });
    },
  };
}
