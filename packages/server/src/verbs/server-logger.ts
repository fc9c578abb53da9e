import { createLogger, type Logger } from "@boxyard/core/node";
import type { ServerConfig } from "../config.ts";

/** The server's log on standard error: for people on a terminal, for programs elsewhere, unless the setting says which. */
export function serverLogger({ logLevel, logFormat }: Pick<ServerConfig, "logLevel" | "logFormat">): Logger {
  const automatic = process.stderr.isTTY === true ? "text" : "json";
  return createLogger("server", { level: logLevel, format: logFormat === "auto" ? automatic : logFormat });
}
