import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { callApi } from "./api.ts";
import { clientEnv } from "./client-env.ts";
import type { Platform } from "./running-platform.ts";

/**
 * The server that runs on `dataDir`, which other programs may be using: nothing here starts or ends the server, and disposing leaves it running. A test ends
 * the sandboxes that it made. `failed_precondition`, reason `not_running`, when no server answers.
 */
export async function attachInstalled(dataDir: string, inherited: Readonly<Record<string, string | undefined>>): Promise<Platform> {
  const { url, pid } = runningServer(dataDir);
  const apiKey = readFileSync(join(dataDir, "api-key"), "utf8").trim();
  const answer = await callApi(url, { path: "/health" }).catch((cause: unknown) => {
    throw new AppError("failed_precondition", `No server answers at ${url}; start it with ./boxyard up -d`, {
      reason: "not_running",
      cause,
    });
  });
  if (answer.status >= 400) throw new AppError("unavailable", `The server at ${url} says ${answer.status}`, { reason: "not_healthy" });
  const env = await clientEnv({ ...inherited, BOXYARD_DATA: dataDir, BOXYARD_LISTEN: new URL(url).host });
  return {
    ...{ apiUrl: url, apiKey, dataDir, pid, env },
    api: (call) => callApi(url, { ...call, headers: { "X-API-Key": apiKey, ...call.headers } }),
    restart: () => refuse("restarted"),
    setUp: () => refuse("set up"),
    kill9: () => refuse("killed"),
    stop: () => refuse("stopped"),
    inject: () => refuse("given faults"),
    faultsHappened: () => refuse("given faults"),
    died: () => refuse("waited for"),
    log: () => refuse("asked for its log"),
    [Symbol.asyncDispose]: async () => {},
  };
}

function runningServer(dataDir: string): { readonly url: string; readonly pid: number } {
  const file = join(dataDir, "server.json");
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")) as { url: string; pid: number };
  throw new AppError("failed_precondition", `No server runs on ${dataDir}; start it with ./boxyard up -d`, { reason: "not_running" });
}

function refuse(verb: string): never {
  throw new AppError("failed_precondition", `An installation is not ${verb} by a test: boot the platform with \`own: true\``, {
    reason: "installation",
  });
}
