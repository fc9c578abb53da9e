import { readlinkSync } from "node:fs";
import { join } from "node:path";
import { createLogger, type Logger } from "@boxyard/core/node";
import type { ServerConfig } from "../config.ts";

/** The log of servers in the background, in the data directory. */
export const SERVER_LOG = "server.log";

/** The server's log on standard error: for people on a terminal, for programs elsewhere, unless the setting says which. */
export function serverLogger(config: Pick<ServerConfig, "dataDir" | "logLevel" | "logFormat" | "logMaxMib" | "logFiles">): Logger {
  const { logLevel, logFormat } = config;
  const automatic = process.stderr.isTTY === true ? "text" : "json";
  return createLogger("server", { level: logLevel, format: logFormat === "auto" ? automatic : logFormat, rotation: rotationOf(config) });
}

/** Only our own `server.log` is rotated: what else standard error is belongs to the one who started the server. */
function rotationOf({ dataDir, logMaxMib, logFiles }: Pick<ServerConfig, "dataDir" | "logMaxMib" | "logFiles">) {
  const path = join(dataDir, SERVER_LOG);
  try {
    return readlinkSync("/proc/self/fd/2") === path ? { path, maxBytes: logMaxMib * 2 ** 20, keep: logFiles - 1 } : undefined;
  } catch {
    return undefined;
  }
}
