import type { UpstreamTls } from "@boxyard/http1";
import type { Target, Ways } from "./connect.ts";
import type { Rules } from "./rules.ts";

export const HTTPS_PORT = 443;

/** The server of a host for which TLS is opened. */
export interface OpenedServer {
  /** Differs for each sandbox, policy and host, so that connections are used again for the same only. */
  readonly key: string;
  readonly target: Target & { readonly tls: UpstreamTls };
  /** Whether the policy is still the one of the key. */
  isCurrent(): boolean;
}

/** `protocols`: what the server may choose of (`alpn.ts`). */
export function openedServer(
  { rules, ways }: { readonly rules: Rules; readonly ways: Ways },
  { address, host }: { readonly address: string; readonly host: string },
  protocols: string,
): OpenedServer {
  const generation = rules.generation(address);
  const isNamed = rules.allowed(address, host) !== undefined;
  const permits = isNamed ? {} : { permits: (server: string) => rules.allowsAddress(address, server) };
  const ca = ways.trust();
  const tls = { serverName: host, ALPNProtocols: protocols, ...(ca !== undefined && { ca }) };
  return {
    key: `${address}|${generation}|${host}`,
    target: { host, port: HTTPS_PORT, tls, ...permits },
    isCurrent: () => rules.generation(address) === generation,
  };
}
