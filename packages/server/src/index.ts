export { readConfig, type ServerConfig } from "./config.ts";
export type { ServerContext, ServerOptions } from "./context.ts";
export { Front, type FrontOptions } from "./proxy/front.ts";
export { type Route, type RouteFacts, RouteTable } from "./proxy/route-table.ts";
export { type RunningServer, startServer } from "./start-server.ts";
