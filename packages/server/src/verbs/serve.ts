import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { EXIT_SETUP_NEEDED } from "@boxyard/core";
import { buildId } from "../build-id.ts";
import type { ServerConfig } from "../config.ts";
import type { Machine } from "../machine.ts";
import { lockDataDir, makeDataDir, removeServerFile, writeServerFile } from "../server-file.ts";
import type { OrphanPolicy } from "../store-identity.ts";
import { isReplica, startAlone, startReplica } from "./running.ts";
import { serverLogger } from "./server-logger.ts";

const OOM_SCORE_ADJ = -500;

/** Runs the server until SIGTERM or SIGINT. Sandboxes go on without it. Returns the exit code. */
export async function serve(config: ServerConfig, machine: Machine, args: readonly string[]): Promise<number> {
  if (!(await machine.isSetUp())) {
    console.error("This machine is not set up for this version; run `boxyard setup`.");
    return EXIT_SETUP_NEEDED;
  }
  makeDataDir(config.dataDir);
  const lock = lockDataDir(config.dataDir);
  const logger = serverLogger(config);
  const stop = untilSignal();
  preferOthersForOomKill();
  // A fault in one request must not end the server.
  for (const event of ["unhandledRejection", "uncaughtException"] as const)
    process.on(event, (error) => logger.error({ err: error }, event));
  try {
    const running = await (isReplica(config) ? startReplica : startAlone)({ config, machine, logger, orphans: orphanPolicyOf(args) });
    writeServerFile(config.dataDir, running.url, buildId());
    console.log(`Boxyard runs at ${running.url}. The API key is in ${join(config.dataDir, "api-key")}.`);
    const end = await Promise.race([stop, running.lost]).catch((error: unknown) => error);
    logger.info(typeof end === "string" ? { signal: end } : { err: end }, "server is stopping");
    removeServerFile(config.dataDir);
    await running.close();
    logger.info("server stopped; its sandboxes go on");
    if (typeof end !== "string") throw end;
    return 0;
  } finally {
    lock.release();
  }
}

function orphanPolicyOf(args: readonly string[]): OrphanPolicy {
  if (args.includes("--adopt-orphans")) return "adopt";
  return args.includes("--remove-orphans") ? "remove" : "refuse";
}

/** Makes the kernel kill other processes first when the machine has no memory left, where root may ask for that (CAP_SYS_RESOURCE). */
function preferOthersForOomKill(): void {
  try {
    writeFileSync("/proc/self/oom_score_adj", String(OOM_SCORE_ADJ));
  } catch {
    // The score stays: that of sandboxes is far higher in any case.
  }
}

function untilSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => resolve(signal));
  });
}
