export { readConfig, type ServerConfig } from "./config.ts";
export { type RunningServer, type ServerContext, type ServerOptions, startServer } from "./context.ts";
