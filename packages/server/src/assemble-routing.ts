import { AgentClient } from "@boxyard/agent-client";
import type { Clock } from "@boxyard/core";
import { UpstreamPool } from "@boxyard/http1";
import type { ServerConfig } from "./config.ts";
import { AgentLines } from "./proxy/agent-lines.ts";
import { type Route, RouteTable } from "./proxy/route-table.ts";
import type { Tokens } from "./sandboxes/tokens.ts";
import { UseWatch } from "./sandboxes/upkeep/use-watch.ts";

interface RoutingDeps {
  readonly config: ServerConfig;
  readonly clock: Clock;
  readonly tokens: Tokens;
  /** How long an agent may take for `/init`. */
  readonly agentLimitMs: number | undefined;
}

/**
 * Makes the table of routes to sandboxes, the connections to them, which the proxy and the server's own requests to agents share, and what notes their use
 * that is no request. `forget` is called for each route that ends.
 */
export function assembleRouting({ config, clock, tokens, agentLimitMs }: RoutingDeps, forget: (route: Route) => void) {
  const upstreams = new UpstreamPool(() => clock.monotonic(), config.peerTimeoutSeconds * 1000);
  const agent = new AgentClient(clock, agentLimitMs, new AgentLines(upstreams));
  const parts = { clock, tokens, agent };
  const routes = new RouteTable(forget, () => clock.now());
  const touch = ({ id }: { readonly id: string }) => routes.find(id)?.flights.touch();
  return { routes, agent, upstreams, use: new UseWatch({ ...parts, cpuPercent: config.idleCpuPercent, touch }) };
}
