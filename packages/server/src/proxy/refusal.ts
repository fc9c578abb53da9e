import { timingSafeEqual } from "node:crypto";
import type { RequestHead } from "@boxyard/http1";
import { AGENT_PORT } from "@boxyard/spec";
import { type ProxyProblem, problems } from "./answers.ts";
import { isInternalAgentPath } from "./dispatch.ts";
import type { LinkState } from "./port-link.ts";
import type { Guarded, Route, Sleeper } from "./route-table.ts";
import { isFull, isTcp, MAX_TCP, tcpProblem } from "./tcp-exchange.ts";

/** Limit of requests in flight to one sandbox, and of requests that wait for the resume of one sandbox. */
const MAX_FLIGHTS = 4096;

/**
 * The problem because of which a request may not go to this sandbox and port; undefined if it may. A sandbox that is being paused answers as one
 * that is paused: for the API it is paused already, and clients ask its `/health` to learn that. `link`: whether a link of the port lets the request in.
 */
export function refusal(request: RequestHead, route: Route, port: number, link: LinkState): ProxyProblem | undefined {
  if (isInternalAgentPath(port, request.target)) return problems.internalPath(request.target.split("?", 1)[0] ?? "");
  if (route.flights.size >= MAX_FLIGHTS) return problems.tooManyConnections(route.sandboxId, MAX_FLIGHTS);
  const problem = notLetIn(request, route, port, link);
  if (problem) return problem;
  if (isTcp(request) && isFull(route)) return problems.tooManyConnections(route.sandboxId, MAX_TCP);
  if (!route.ending) return undefined;
  return route.ending === "pausing" ? problems.sandboxNotFound(route.sandboxId) : problems.changing(route.sandboxId);
}

/**
 * The problem because of which a request may not wake this sandbox; undefined if it may. A request to the agent's port needs the sandbox's
 * access token, since the agent, which checks the token otherwise, does not run. `waiting`: how many requests wait for the sandbox already.
 */
export function refusalToWake(
  request: RequestHead,
  sleeper: Sleeper,
  port: number,
  link: LinkState,
  waiting: number,
): ProxyProblem | undefined {
  if (isInternalAgentPath(port, request.target)) return problems.internalPath(request.target.split("?", 1)[0] ?? "");
  if (waiting >= MAX_FLIGHTS) return problems.tooManyConnections(sleeper.sandboxId, MAX_FLIGHTS);
  const problem = notLetIn(request, sleeper, port, link);
  if (problem || port !== AGENT_PORT) return problem;
  const given = request.fields.get("x-access-token");
  return given !== undefined && isSame(given, sleeper.accessToken) ? undefined : problems.accessTokenWrong(sleeper.sandboxId);
}

/** The problem that answers a request to a sandbox that is being resumed, but not for this request. */
export function refusalMeanwhile(request: RequestHead, changing: Guarded, port: number, link: LinkState): ProxyProblem {
  if (isInternalAgentPath(port, request.target)) return problems.internalPath(request.target.split("?", 1)[0] ?? "");
  return notLetIn(request, changing, port, link) ?? problems.changing(changing.sandboxId);
}

/** The problem of a request that does not show what its port asks for. The agent checks its own token. */
function notLetIn(request: RequestHead, of: Guarded, port: number, link: LinkState): ProxyProblem | undefined {
  const problem = port === AGENT_PORT ? undefined : wrongTrafficToken(request, of, link);
  // A request that has passed the check of a private port has shown its token or a link.
  return problem ?? tcpProblem(request, of, port, of.trafficToken !== undefined || link === "good");
}

function wrongTrafficToken(request: RequestHead, { sandboxId, trafficToken }: Guarded, link: LinkState): ProxyProblem | undefined {
  if (trafficToken === undefined || link === "good") return undefined;
  const given = request.fields.get("e2b-traffic-access-token") ?? request.fields.get("svc-traffic-access-token");
  if (given === undefined) return link === "bad" ? problems.linkNotGood(sandboxId) : problems.trafficTokenMissing(sandboxId);
  return isSame(given, trafficToken) ? undefined : problems.trafficTokenWrong(sandboxId);
}

function isSame(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)];
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}
