import { existsSync } from "node:fs";
import { atOnce, type SandboxId, systemClock } from "@boxyard/core";
import type { SandboxDriver } from "@boxyard/driver";
import type { ServerConfig } from "../config.ts";
import type { Machine } from "../machine.ts";
import { openStore } from "../open-store.ts";
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
    const ending = args.includes("--sandboxes");
    const driver = await machine.openDriver(logger, { ending });
    if (ending) {
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

/**
 * Ends every sandbox of the data directory, known to the store or not. As in the transition `kill`, the store has `killing` before the removal and
 * `dead` after it, so the next server finishes what this one leaves undone; a store that takes no changes does not stop the removals. Tries all
 * of them, then throws the first failure.
 */
async function endAll(driver: SandboxDriver, store: Store | undefined): Promise<void> {
  const failures: unknown[] = [];
  const failed = (error: unknown) => void failures.push(error);
  const records = (await store?.listLiving().catch(failed)) ?? [];
  const end = { reason: "released", endedAt: systemClock.now() } as const;
  for (const record of records) {
    const { id, state } = record;
    // A sandbox whose removal has begun keeps the cause of that.
    if (state !== "killing") await store?.updateSandbox(id, [state], { state: "killing", ...end }, record).catch(failed);
  }
  const left = new Set<SandboxId>();
  await atOnce(await driver.list(), AT_ONCE, async (handle) => {
    const { sandboxId } = handle;
    await driver.destroy(handle).catch((cause: unknown) => {
      left.add(sandboxId);
      failed(Object.assign(new Error(`sandbox ${sandboxId} could not be removed`), { cause }));
    });
  });
  for (const { id } of records) {
    if (!left.has(id)) await store?.updateSandbox(id, ["killing"], { state: "dead" }, { state: "killing" }).catch(failed);
  }
  if (failures.length > 0) throw failures[0];
}
