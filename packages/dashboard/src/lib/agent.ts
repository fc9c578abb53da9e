import { type AgentAddress, Commands, createSandboxTransport, Files, Pty, probeHealth } from "@boxyard/sdk";
import type { SandboxDetail } from "@boxyard/spec/platform-types";

/** The parts of a sandbox's agent that the page uses, through the proxy on the page's own origin. */
export interface Agent {
  readonly address: AgentAddress;
  readonly commands: Commands;
  readonly files: Files;
  readonly pty: Pty;
}

/**
 * The agent of one sandbox. The page has the access token of this sandbox in memory while it shows it: the API gives it to a caller that may use the sandbox.
 * These requests carry no cookie, and what a sandbox answers cannot set one.
 */
export function agentOf({ sandboxID, envdAccessToken, envdVersion }: SandboxDetail): Agent {
  const address: AgentAddress = { sandboxId: sandboxID, accessToken: envdAccessToken, baseUrl: location.origin };
  const transport = createSandboxTransport(address);
  const metadata = {
    version: envdVersion,
    probe: () => probeHealth(address),
  };
  return {
    address,
    commands: new Commands(transport, {}, metadata),
    files: new Files(transport, {}, metadata, address),
    pty: new Pty(transport, {}, metadata),
  };
}

/** Address of a port for a browser: its own host name where one leads to this server, else a path below this origin. */
export function portAddress(
  sandboxId: string,
  port: number,
  domain: string | undefined,
): { readonly url: string; readonly ownHost: boolean } {
  const { protocol, hostname, port: ownPort } = location;
  const isLoopback = hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
  const below = domain ?? (isLoopback ? `localhost${ownPort ? `:${ownPort}` : ""}` : undefined);
  if (below === undefined) return { url: `/ports/${sandboxId}/${port}/`, ownHost: false };
  return { url: `${protocol}//${port}-${sandboxId}.${below}/`, ownHost: true };
}
