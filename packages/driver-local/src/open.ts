import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { AppError, isAppError } from "@boxyard/core";
import { assembleDriver } from "./assemble.ts";
import type { LocalDriverConfig } from "./config.ts";
import { fingerprint } from "./doctor/fingerprint.ts";
import type { LocalDriver } from "./driver.ts";
import { sweepMaking } from "./images/index.ts";
import { claimRange, openNetwork } from "./network/index.ts";
import type { SandboxNetworks } from "./parts.ts";
import { isPoolReadOnly, openPool } from "./pool-storage/index.ts";
import { forkServerFile, guestDirectory, type InstanceFile, readAgentWhole, readInstance } from "./setup/index.ts";
import { chooseRangeAgain, rangeForEnding } from "./setup/range.ts";
import { ForkServer } from "./sys/fork-server/index.ts";

/**
 * Opens the driver on a data directory that has been set up: pool, network, and the sandboxes of an earlier process. Throws
 * `failed_precondition` with the next act when something is missing (`not_set_up`, `no_pool`, `no_guest`, `already_open`, …).
 */
export async function openLocalDriver(config: LocalDriverConfig): Promise<LocalDriver> {
  const { dataDir } = config;
  const facts = readInstance(dataDir);
  if (!facts) {
    throw new AppError("failed_precondition", `${dataDir} is not set up: run 'boxyard setup'`, { reason: "not_set_up" });
  }
  const guest = guestDirectory(dataDir);
  const forkServer = new ForkServer(forkServerFile(dataDir), (why) => {
    const what = why === "hung" ? "did not answer and was killed" : "has ended";
    config.logger.warn(`the fork server ${what}; what was under way fails, and the next sandbox starts another`);
  });
  let networks: SandboxNetworks | undefined;
  try {
    const storage = await openPool(dataDir, config.reserve, forkServer);
    await sweepMaking(dataDir);
    networks = await openNetworkOf(config, facts);
    const driver = assembleDriver(config, {
      instance: facts.instance,
      guestDirectory: guest,
      forkServer,
      networks,
      storage,
      fingerprint: () => fingerprint(dataDir, { runtime: config.runtime, reserve: config.reserve, resolvConf: config.resolvConf }),
    });
    if (!isPoolReadOnly(dataDir)) await driver.undoUnfinished();
    readAgentWhole(guest).catch((error: unknown) => config.logger.warn({ err: error }, "the agent's program was not read ahead"));
    return driver;
  } catch (error) {
    forkServer.close();
    await networks?.close();
    throw error;
  }
}

/** The egress proxy opens what is in it, and lists nothing. A start of the server has made every directory of the data directory private. */
async function makeRecordings(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await chmod(directory, 0o711);
}

/** Two data directories may have the same range, since claims end at a reboot: the first to open uses it, the other chooses again. */
async function openNetworkOf(config: LocalDriverConfig, { instance, network }: InstanceFile, triesLeft = 3): Promise<SandboxNetworks> {
  const { dataDir, logger, clock, trust, networkShares: shares, resolvConf } = config;
  try {
    const { recordings } = config;
    if (recordings !== undefined) await makeRecordings(recordings);
    const optional = {
      ...(clock && { clock }),
      ...(trust && { trust }),
      ...(shares && { shares }),
      ...(recordings && { recordings }),
      ...(config.reserve?.diskBytes !== undefined && { diskReserve: config.reserve.diskBytes }),
      ...(resolvConf && { resolvConf }),
    };
    const opened = await openNetwork({ instance, network, stateDirectory: join(dataDir, "network"), logger, ...optional });
    // From now on the kernel knows the range; the claim is for the time without a server.
    await claimRange(dataDir, () => network).catch((error: unknown) =>
      logger.warn({ err: error }, "the range of addresses was not claimed"),
    );
    return opened;
  } catch (error) {
    const isTaken = isAppError(error) && error.reason === "network_overlap";
    const chosen = isTaken && triesLeft > 0 ? await anotherRange(config) : undefined;
    if (!chosen) throw error;
    logger.warn({ err: error, network: chosen.network }, "the sandboxes' network is in use by now; another was chosen");
    return openNetworkOf(config, chosen, triesLeft - 1);
  }
}

/** Undefined when the range must stay: the operator has set it, or there are sandboxes that are to go on. */
async function anotherRange({ dataDir, network, ending = false }: LocalDriverConfig): Promise<InstanceFile | undefined> {
  if (ending) return rangeForEnding(dataDir);
  return network === undefined ? chooseRangeAgain(dataDir) : undefined;
}
