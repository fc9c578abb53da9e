import { AppError } from "@boxyard/core";
import type { Freezer } from "../cgroup/freezer.ts";
import type { HttpRoute } from "../contracts.ts";
import type { OomCounter } from "../metrics/oom-counter.ts";

const NO_CONTENT = { status: 204, headers: { "Cache-Control": "no-store" } };
/** How long a call without `maxWaitMs` waits until everything is frozen. */
const DEFAULT_WAIT_MS = 2_000;
const MAX_WAIT_MS = 60_000;
const DEFAULT_CGROUPS = 512;
const MAX_CGROUPS = 8_192;

/**
 * `POST /freeze`: 204 when everything is frozen; 503 when that takes too long, and everything is thawed again. With `maxWaitMs` the answer is 200
 * with the counts after that time. When the caller has left before the answer, everything is thawed, because the caller treats the call as failed.
 */
export function freezeRoute(freezer: Freezer, oomKills: OomCounter): HttpRoute {
  return {
    method: "POST",
    path: "/freeze",
    access: "token",
    async handle({ query, signal }) {
      const givenWaitMs = integerOf(query, "maxWaitMs");
      const bounded = givenWaitMs !== undefined && givenWaitMs > 0;
      // Also when the freeze ends late, because this process itself was stopped meanwhile.
      const onLeft = () => void freezer.thaw().catch(() => {});
      signal.addEventListener("abort", onLeft, { once: true });
      const result = await freezer.freeze({
        mode: query.get("mode") === "hierarchy" ? "hierarchy" : "legacy",
        maxWaitMs: bounded ? Math.min(givenWaitMs, MAX_WAIT_MS) : DEFAULT_WAIT_MS,
        maxCgroups: Math.min(Math.max(integerOf(query, "maxCgroups") ?? DEFAULT_CGROUPS, 1), MAX_CGROUPS),
      });
      oomKills.read();
      if (bounded) return Response.json(result, { headers: { "Cache-Control": "no-store" } });
      if (result.notFrozen === 0 && result.failed === 0) return new Response(null, NO_CONTENT);
      await freezer.thaw();
      throw new AppError("unavailable", "not everything could be frozen in time; it was thawed again", { reason: "not_frozen" });
    },
  };
}

/** `POST /unfreeze`: 204, also when nothing was frozen. */
export function unfreezeRoute(freezer: Freezer): HttpRoute {
  return {
    method: "POST",
    path: "/unfreeze",
    access: "token",
    async handle() {
      await freezer.thaw();
      return new Response(null, NO_CONTENT);
    },
  };
}

function integerOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^-?\d{1,9}$/.test(text)) throw new AppError("invalid_argument", `${name} must be an integer`, { reason: "bad_query" });
  return Number(text);
}
