import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { assembleDriver } from "./assemble.ts";
import type { LocalDriverConfig } from "./config.ts";
import { fingerprint } from "./doctor/fingerprint.ts";
import type { LocalDriver } from "./driver.ts";
import { sweepMaking } from "./images/index.ts";
import { openNetwork } from "./network/index.ts";
import { openPool } from "./pool-storage/index.ts";
import { guestFolder, readInstance } from "./setup/index.ts";

/**
 * Opens the driver on a data folder that has been set up: pool, network, and the sandboxes of an earlier process. Throws
 * `failed_precondition` with the next act when something is missing (`not_set_up`, `no_pool`, `no_guest`, `already_open`, …).
 */
export async function openLocalDriver(config: LocalDriverConfig): Promise<LocalDriver> {
  const { dataFolder, logger } = config;
  const facts = readInstance(dataFolder);
  if (!facts) {
    throw new AppError("failed_precondition", `${dataFolder} is not set up: run 'boxyard setup'`, { reason: "not_set_up" });
  }
  const { instance, network } = facts;
  const guest = guestFolder(dataFolder);
  const storage = await openPool(dataFolder);
  await sweepMaking(dataFolder);
  const networks = await openNetwork({
    instance,
    network,
    stateFolder: join(dataFolder, "network"),
    logger,
    ...(config.clock && { clock: config.clock }),
  });
  try {
    return assembleDriver(config, {
      instance,
      guestFolder: guest,
      networks,
      storage,
      fingerprint: () => fingerprint(dataFolder, { runtime: config.runtime }),
    });
  } catch (error) {
    await networks.close();
    throw error;
  }
}
