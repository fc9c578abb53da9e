import type { AgentClient } from "@boxyard/agent-client";
import type { Clock } from "@boxyard/core";
import type { ServerConfig } from "./config.ts";
import { type Route, RouteTable } from "./proxy/route-table.ts";
import type { Tokens } from "./sandboxes/tokens.ts";
import { UseWatch } from "./sandboxes/upkeep/use-watch.ts";

interface RoutingDeps {
  readonly config: ServerConfig;
  readonly clock: Clock;
  readonly agent: AgentClient;
  readonly tokens: Tokens;
}

/** Makes the table of routes to sandboxes, and what notes their use that is no request. `forget` is called for each route that ends. */
export function assembleRouting({ config, ...parts }: RoutingDeps, forget: (route: Route) => void) {
  const routes = new RouteTable(forget, () => parts.clock.now());
  const touch = ({ id }: { readonly id: string }) => routes.find(id)?.flights.touch();
  return { routes, use: new UseWatch({ ...parts, cpuPercent: config.idleCpuPercent, touch }) };
}
