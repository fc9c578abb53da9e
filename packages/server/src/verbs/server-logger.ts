import { readlinkSync } from "node:fs";
import { join } from "node:path";
import { isatty } from "node:tty";
import { createLogger, type Logger } from "@boxyard/core/node";
import type { ServerConfig } from "../config.ts";

/** File of the data directory with the log of a server in the background. */
export const SERVER_LOG = "server.log";

/** The server's logger, which writes to standard error: text on a terminal, else JSON, unless the setting says which. */
export function serverLogger(config: Pick<ServerConfig, "dataDir" | "logLevel" | "logFormat" | "logMaxMib" | "logFiles">): Logger {
  const { logLevel, logFormat } = config;
  const automatic = isatty(2) ? "text" : "json";
  return createLogger("server", { level: logLevel, format: logFormat === "auto" ? automatic : logFormat, rotation: rotationOf(config) });
}

/** The rotation of `server.log`; none where standard error is any other file, which belongs to the caller. */
function rotationOf({ dataDir, logMaxMib, logFiles }: Pick<ServerConfig, "dataDir" | "logMaxMib" | "logFiles">) {
  const path = join(dataDir, SERVER_LOG);
  try {
    return readlinkSync("/proc/self/fd/2") === path ? { path, maxBytes: logMaxMib * 2 ** 20, keep: logFiles - 1 } : undefined;
  } catch {
    return undefined;
  }
}
