import { timingSafeEqual } from "node:crypto";
import type { RequestHead } from "@boxyard/http1";
import { AGENT_PORT } from "@boxyard/spec";
import { type ProxyProblem, problems } from "./answers.ts";
import { isInternalAgentPath } from "./dispatch.ts";
import type { Route } from "./route-table.ts";

/** Requests in flight to one sandbox. */
const MAX_FLIGHTS = 4096;

/** Why a request may not go to this sandbox and port, if so. */
export function refusal(request: RequestHead, route: Route, port: number): ProxyProblem | undefined {
  if (isInternalAgentPath(port, request.target)) return problems.internalPath(request.target.split("?", 1)[0] ?? "");
  if (route.flights.size >= MAX_FLIGHTS) return problems.tooManyConnections(route.sandboxId, MAX_FLIGHTS);
  if (port === AGENT_PORT || route.trafficToken === undefined) return undefined;
  const given = request.fields.get("e2b-traffic-access-token") ?? request.fields.get("svc-traffic-access-token");
  if (given === undefined) return problems.trafficTokenMissing(route.sandboxId);
  const a = Buffer.from(given);
  const b = Buffer.from(route.trafficToken);
  return a.byteLength === b.byteLength && timingSafeEqual(a, b) ? undefined : problems.trafficTokenWrong(route.sandboxId);
}
