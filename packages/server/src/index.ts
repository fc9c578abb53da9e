export { readConfig, type ServerConfig } from "./config.ts";
export { type RunningServer, type ServerContext, type ServerOptions, startServer } from "./context.ts";
export { Front, type FrontOptions } from "./proxy/front.ts";
export { type Route, type RouteFacts, RouteTable } from "./proxy/route-table.ts";
