import { timingSafeEqual } from "node:crypto";
import type { RequestHead } from "@boxyard/http1";
import { AGENT_PORT } from "@boxyard/spec";
import { type ProxyProblem, problems } from "./answers.ts";
import { isInternalAgentPath } from "./dispatch.ts";
import type { Guarded, Route, Sleeper } from "./route-table.ts";

/** Requests in flight to one sandbox, and requests that wait for one that they wake. */
const MAX_FLIGHTS = 4096;

/** Why a request may not go to this sandbox and port, if so. */
export function refusal(request: RequestHead, route: Route, port: number): ProxyProblem | undefined {
  if (isInternalAgentPath(port, request.target)) return problems.internalPath(request.target.split("?", 1)[0] ?? "");
  if (route.flights.size >= MAX_FLIGHTS) return problems.tooManyConnections(route.sandboxId, MAX_FLIGHTS);
  const problem = port === AGENT_PORT ? undefined : wrongTrafficToken(request, route);
  return problem ?? (route.isPausing ? problems.changing(route.sandboxId) : undefined);
}

/**
 * Why a request may not wake this sandbox, if so. The agent's own port needs the sandbox's access token for that, whatever the request is:
 * the agent, which would refuse it, does not run. `waiting`: so many requests wait for it already.
 */
export function refusalToWake(request: RequestHead, sleeper: Sleeper, port: number, waiting: number): ProxyProblem | undefined {
  if (isInternalAgentPath(port, request.target)) return problems.internalPath(request.target.split("?", 1)[0] ?? "");
  if (waiting >= MAX_FLIGHTS) return problems.tooManyConnections(sleeper.sandboxId, MAX_FLIGHTS);
  if (port !== AGENT_PORT) return wrongTrafficToken(request, sleeper);
  const given = request.fields.get("x-access-token");
  return given !== undefined && isSame(given, sleeper.accessToken) ? undefined : problems.accessTokenWrong(sleeper.sandboxId);
}

/** Why a request may not go to this sandbox and port, which is being resumed for somebody else. */
export function refusalMeanwhile(request: RequestHead, changing: Guarded, port: number): ProxyProblem {
  if (isInternalAgentPath(port, request.target)) return problems.internalPath(request.target.split("?", 1)[0] ?? "");
  const problem = port === AGENT_PORT ? undefined : wrongTrafficToken(request, changing);
  return problem ?? problems.changing(changing.sandboxId);
}

function wrongTrafficToken(request: RequestHead, { sandboxId, trafficToken }: Guarded): ProxyProblem | undefined {
  if (trafficToken === undefined) return undefined;
  const given = request.fields.get("e2b-traffic-access-token") ?? request.fields.get("svc-traffic-access-token");
  if (given === undefined) return problems.trafficTokenMissing(sandboxId);
  return isSame(given, trafficToken) ? undefined : problems.trafficTokenWrong(sandboxId);
}

function isSame(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}
