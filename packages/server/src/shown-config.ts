import { join } from "node:path";
import type { ServerConfig } from "./config.ts";

/** What `--print-config` shows; of a secret, only whether it is set. */
export function printable(config: ServerConfig): Record<string, unknown> {
  const { https, http, noProxy } = config.proxy;
  const proxy = { ...(https && { https: "(set)" }), ...(http && { http: "(set)" }), noProxy };
  const { given: _, traces, ...shown } = config;
  return {
    ...shown,
    traces: traces && { ...traces, headers: Object.keys(traces.headers) },
    proxy,
    databaseUrl: config.databaseUrl === undefined ? join(config.dataDir, "boxyard.db") : "(set)",
  };
}
