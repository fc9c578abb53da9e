import { forwardedRequest, type OtherHost, type RequestHead } from "@boxyard/http1";
import { AGENT_PORT } from "@boxyard/spec";
import type { ExchangeEdit } from "./exchange-edit.ts";
import type { Route } from "./route-table.ts";

/** Stands for the port in `maskRequestHost`. */
const PORT_MARK = "$" + "{PORT}";

/**
 * Whether a request may take a connection that was kept. Such a connection may turn out to be closed when the request is on its way, and
 * nobody can tell then whether it was acted on. The agent's connections we know; to other programs only requests that change nothing take one.
 */
export function mayReuse(request: RequestHead, port: number): boolean {
  if (request.minor === 0 || request.upgrade !== undefined) return false;
  return port === AGENT_PORT || request.method === "GET" || request.method === "HEAD";
}

/** The head of a request as the sandbox gets it. */
export function headForSandbox(request: RequestHead, route: Route, port: number, drops: ExchangeEdit["drops"]): Uint8Array {
  const other = otherHost(request, route, port);
  if (other !== undefined || drops) return forwardedRequest(request, other, drops);
  request.derived.forwarded ??= forwardedRequest(request);
  return request.derived.forwarded;
}

function otherHost({ host, fields }: RequestHead, { maskHost }: Route, port: number): OtherHost | undefined {
  if (maskHost !== undefined && port !== AGENT_PORT) return { host: maskHost.replaceAll(PORT_MARK, String(port)), original: host };
  // A request that named its target absolutely says by that whom it is for.
  return host === fields.get("host") ? undefined : { host };
}
