import { type AgentAddress, routingHeaders } from "../connection/agent-connection.ts";
import { describe } from "../connection/api-client.ts";
import type { ConnectionConfig } from "../connection/config.ts";
import { AbortError, ConnectionError, InvalidArgumentError } from "../errors.ts";

/** URL and headers for requests to a port of a sandbox, from any HTTP or WebSocket client. */
export interface PortAccess {
  /** Base URL of the server, without a slash at the end. */
  readonly url: string;
  /** Headers with the sandbox and the port, and with the traffic token if the ports are not public. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Options of `sandbox.fetch`: those of the platform's own `fetch`. */
export type PortFetchOpts = RequestInit;

export function checkPort(port: number): void {
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return;
  throw new InvalidArgumentError(`port must be a whole number from 1 to 65535, not ${port}`, { code: "invalid_argument" });
}

/** The path form of the proxy (docs/contract/routing.md, Dispatch). */
export function portUrl(serverUrl: string, sandboxId: string, port: number): string {
  checkPort(port);
  return `${serverUrl.replace(/\/$/, "")}/ports/${sandboxId}/${port}`;
}

export function portAccess(address: AgentAddress, port: number, trafficAccessToken: string | undefined): PortAccess {
  checkPort(port);
  const token: Record<string, string> = trafficAccessToken === undefined ? {} : { "e2b-traffic-access-token": trafficAccessToken };
  return { url: address.baseUrl, headers: { ...routingHeaders(address.sandboxId, port), ...token } };
}

/** One request to a port of a sandbox. Every answer is a success, whatever its status. */
export async function fetchPort(access: PortAccess, port: number, path: string, init: RequestInit): Promise<Response> {
  if (!path.startsWith("/")) {
    throw new InvalidArgumentError(`path must begin with '/', not '${path.slice(0, 100)}'`, { code: "invalid_argument" });
  }
  const headers = new Headers(init.headers);
  for (const [name, value] of Object.entries(access.headers)) headers.set(name, value);
  try {
    return await fetch(access.url + path, { ...init, headers });
  } catch (cause) {
    const what = `fetch ${path.slice(0, 100)} from port ${port}`;
    if (init.signal?.aborted) throw new AbortError(`${what}: aborted`, { code: "canceled", reason: "aborted", cause: init.signal.reason });
    const message = `${what}: no answer from ${access.url} (${describe(cause)})`;
    throw new ConnectionError(message, { code: "unavailable", reason: "network_failed", cause });
  }
}

/** Without a domain, host names work on this machine only: every name below `localhost` leads to it. */
export function domainOf(config: ConnectionConfig): string {
  if (config.domain) return config.domain;
  const { hostname, port, host } = new URL(config.apiUrl);
  if (hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.")) return port ? `localhost:${port}` : "localhost";
  if (!/^[\d.]+$|^\[/.test(hostname)) return host;
  const message = `no host name leads to a port of a sandbox at ${host}: give the option domain, or set BOXYARD_DOMAIN on the server`;
  throw new InvalidArgumentError(message, { code: "invalid_argument", reason: "domain_unknown" });
}
