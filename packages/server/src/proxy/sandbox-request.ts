import { forwardedRequest, type OtherHost, type RequestHead, type UpstreamTarget } from "@boxyard/http1";
import { AGENT_PORT } from "@boxyard/spec";
import type { ExchangeEdit } from "./exchange-edit.ts";
import type { Route } from "./route-table.ts";

/** Stands for the port in `maskRequestHost`. */
const PORT_MARK = "$" + "{PORT}";

/**
 * Whether a request may use a kept connection. The sandbox may close such a connection while the request is on its way, and then it is unknown
 * whether the request had an effect. The agent keeps connections for longer than the pool does; other programs get only GET and HEAD on them.
 */
export function mayReuse(request: RequestHead, port: number): boolean {
  if (request.minor === 0 || request.upgrade !== undefined) return false;
  return port === AGENT_PORT || request.method === "GET" || request.method === "HEAD";
}

/** Where a port of a sandbox is reached, and how. */
export function upstreamOf({ host, agentPort, tls, inside, httpsPorts }: Route, port: number): UpstreamTarget {
  if (port === AGENT_PORT) return { host, port: agentPort };
  return { host, port, inside, tls: tls ?? httpsPorts?.includes(port) ?? false };
}

type Edit = Pick<ExchangeEdit, "drops" | "cookie" | "added">;

/** The head of a request as the sandbox gets it. */
export function headForSandbox(
  request: RequestHead,
  route: Route,
  port: number,
  { drops = [], cookie, added = "" }: Edit = {},
): Uint8Array {
  const other = otherHost(request, route, port);
  // What drops all cookies drops this one.
  if (cookie !== undefined && !drops.includes("cookie"))
    return forwardedRequest(request, other, [...drops, "cookie"], cookie === "" ? "" : `Cookie: ${cookie}\r\n`);
  if (other !== undefined || drops.length > 0 || added !== "") return forwardedRequest(request, other, drops, added);
  request.derived.forwarded ??= forwardedRequest(request);
  return request.derived.forwarded;
}

function otherHost({ host, fields }: RequestHead, { maskHost }: Route, port: number): OtherHost | undefined {
  if (maskHost !== undefined && port !== AGENT_PORT) return { host: maskHost.replaceAll(PORT_MARK, String(port)), original: host };
  // The host of an absolute target replaces the field Host (RFC 9112, 3.2.2).
  return host === fields.get("host") ? undefined : { host };
}
