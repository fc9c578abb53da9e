import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import type { ConnectionOptions } from "@boxyard/sdk";
import { type CliConfig, urlOfListen } from "./config.ts";
import type { CliContext } from "./context.ts";

/** True when commands go to a server that the user named; then nothing is set up or started on this machine. */
export function isRemote(config: CliConfig): boolean {
  return config.apiUrl !== undefined && config.apiUrl !== urlOfListen(config.listen);
}

/** Where requests go. Without a remote server this sets the machine up and starts the local server, if needed. */
export async function connection(context: CliContext): Promise<ConnectionOptions & { apiUrl: string; apiKey: string | undefined }> {
  const { config } = context;
  if (isRemote(config)) return { apiUrl: config.apiUrl as string, apiKey: config.apiKey };
  const { ensureServer } = await import("./server-control/ensure.ts");
  const server = await ensureServer(context);
  return { apiUrl: server.url, apiKey: config.apiKey ?? readApiKey(config.dataDir) };
}

/** Where read-only requests go. Neither sets anything up nor starts a server: throws `unavailable` when none runs. */
export async function connectionToRead(context: CliContext): ReturnType<typeof connection> {
  const { config } = context;
  if (isRemote(config)) return connection(context);
  const { findServer } = await import("./server-control/ensure.ts");
  const server = await findServer(config.dataDir);
  if (server) return { apiUrl: server.url, apiKey: config.apiKey ?? readApiKey(config.dataDir) };
  const details = { hint: "`boxyard up -d` starts one." };
  throw new AppError("unavailable", "no server is running on this machine", { reason: "no_server", details });
}

/** The first API key, which set-up left for root to read. */
export function readApiKey(dataDir: string): string {
  const path = join(dataDir, "api-key");
  try {
    return readFileSync(path, "utf8").trim();
  } catch (cause) {
    const missing = (cause as { code?: unknown }).code === "ENOENT";
    const hint = missing ? "`boxyard setup` makes one." : "Only root may read it: use sudo, or set BOXYARD_API_KEY.";
    const message = `${missing ? "there is no API key in" : "cannot read"} ${path}`;
    throw new AppError("failed_precondition", message, { reason: "api_key_file", details: { hint }, cause });
  }
}
