import { chmodSync, writeFileSync } from "node:fs";
import { EXIT_SETUP_NEEDED } from "@boxyard/core";
import { buildId } from "../build-id.ts";
import type { ServerConfig } from "../config.ts";
import { adminTokenPath } from "../keys/first-key.ts";
import type { Machine } from "../machine.ts";
import { lockDataDir, makeDataDir, removeServerFile, writeServerFile } from "../server-file.ts";
import { startServer } from "../start-server.ts";
import type { OrphanPolicy } from "../store-identity.ts";
import { BUILD_DIRECTORY, type BuildSettings, noBuildSettings } from "../templates/builds/stage/build-settings.ts";
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
    const driver = await machine.openDriver(logger);
    const start = async () => {
      const buildSettings = config.buildSettings === "machine" ? settingsOf(machine, config) : noBuildSettings;
      const authorities = machine.authorities(config.authorities);
      const { observer, sdkPackage, dashboardFiles, packageHosts } = machine;
      const pages = { sdkPackage, dashboardFiles, packageHosts };
      const orphans = orphanPolicyOf(args);
      return startServer({ config, orphans, driver, logger, buildSettings, authorities, ...pages, ...(observer && { observer }) });
    };
    const server = await start().catch(async (error) => {
      // Else the driver's open handles would keep the process alive, though it does not serve.
      await driver.close();
      throw error;
    });
    for (const path of [server.firstKey.path, adminTokenPath(config.dataDir)]) chmodSync(path, 0o600);
    writeServerFile(config.dataDir, server.url, buildId());
    const { removals: _, ...adoption } = server.adoption;
    logger.info({ url: server.url, ...adoption }, "server started");
    console.log(`Boxyard runs at ${server.url}. The API key is in ${server.firstKey.path}.`);
    const end = await Promise.race([stop, server.lost]).catch((error: unknown) => error);
    logger.info(typeof end === "string" ? { signal: end } : { err: end }, "server is stopping");
    removeServerFile(config.dataDir);
    await server.close();
    await driver.close();
    logger.info("server stopped; its sandboxes go on");
    if (typeof end !== "string") throw end;
    return 0;
  } finally {
    lock.release();
  }
}

/** Reads the machine's settings once, for the first build: that starts `apt-config`, and many servers build nothing. The next build retries a read that failed. */
function settingsOf(machine: Machine, { authorities }: ServerConfig): () => Promise<BuildSettings> {
  let read: Promise<BuildSettings> | undefined;
  return () => {
    read ??= machine.buildSettings(BUILD_DIRECTORY, { authorities }).catch((error: unknown) => {
      read = undefined;
      throw error;
    });
    return read;
  };
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
