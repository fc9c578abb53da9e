import { existsSync } from "node:fs";
import { atOnce, systemClock } from "@boxyard/core";
import type { SandboxDriver } from "@boxyard/driver";
import type { ServerConfig } from "../config.ts";
import { openStore } from "../context.ts";
import type { Machine } from "../machine.ts";
import { removeOrphansFile } from "../sandboxes/upkeep/quarantine.ts";
import { lockDataDir } from "../server-file.ts";
import type { Store } from "../store/index.ts";
import { serverLogger } from "./server-logger.ts";

const AT_ONCE = 8;

/** Releases what the driver holds on the machine; with `--sandboxes` ends every sandbox first. Returns the exit code. */
export async function release(config: ServerConfig, machine: Machine, args: readonly string[]): Promise<number> {
  if (!existsSync(config.dataDir)) return 0;
  const lock = lockDataDir(config.dataDir);
  const logger = serverLogger(config);
  try {
    const driver = await machine.openDriver(logger);
    if (args.includes("--sandboxes")) {
      const store = await openStore(config).catch((error: unknown) => {
        const said = error instanceof Error ? error.message : String(error);
        console.error(`${said}. The sandboxes are ended anyway; the next server on this store finds that out by itself.`);
        return undefined;
      });
      await endAll(driver, store).finally(() => store?.close());
      removeOrphansFile(config.dataDir);
    }
    await driver.release();
    await driver.close();
    return 0;
  } finally {
    lock.release();
  }
}

/** Ends every sandbox of the data directory, known to the store or not. Tries all of them, then throws the first failure. */
export async function endAll(driver: SandboxDriver, store: Store | undefined): Promise<number> {
  const failures: unknown[] = [];
  let ended = 0;
  await atOnce(await driver.list(), AT_ONCE, async (handle) => {
    try {
      await driver.destroy(handle);
      ended += 1;
    } catch (error) {
      failures.push(Object.assign(new Error(`sandbox ${handle.sandboxId} could not be removed`), { cause: error }));
    }
  });
  if (failures.length > 0) throw failures[0];
  for (const record of (await store?.listLiving()) ?? []) {
    await store?.updateSandbox(record.id, [record.state], { state: "dead", reason: "released", endedAt: systemClock.now() });
  }
  return ended;
}
