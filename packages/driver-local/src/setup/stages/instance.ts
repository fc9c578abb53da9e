import { existsSync, readdirSync, statSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { freeBytes, poolPaths, poolSize } from "../../pool-storage/index.ts";
import { instanceName, readInstance, writeInstance } from "../instance-file.ts";
import { assertFree, chooseNetwork, usedNetworks } from "../network-range.ts";
import type { SetupConfig, Stage } from "../types.ts";

export const instance: Stage = {
  name: "instance",
  title: "instance",
  key: ({ network }) => `network ${network ?? "any"}`,
  isDone: ({ dataDir }) => readInstance(dataDir) !== undefined,
  async run(config, report) {
    const file = {
      version: 1,
      instance: instanceName(config.dataDir),
      network: networkOf(config),
      poolSizeBytes: poolSizeOf(config),
    } as const;
    writeInstance(config.dataDir, file);
    report.result(`${file.instance}, ${file.network}`);
  },
};

function networkOf(config: SetupConfig): string {
  const before = readInstance(config.dataDir);
  if (before && (config.network === undefined || config.network === before.network)) return before.network;
  const folder = `${config.dataDir}/sandboxes`;
  if (before && existsSync(folder) && readdirSync(folder).length > 0) {
    throw new AppError(
      "failed_precondition",
      `there are sandboxes with addresses of ${before.network}: end them ('boxyard down --sandboxes') before you change BOXYARD_NETWORK`,
      { reason: "sandboxes_left" },
    );
  }
  const used = usedNetworks();
  if (config.network === undefined) return chooseNetwork(used);
  assertFree(config.network, used);
  return config.network;
}

/** A pool that is there keeps its size. */
function poolSizeOf(config: SetupConfig): number {
  const { image } = poolPaths(config.dataDir);
  return existsSync(image) ? statSync(image).size : poolSize(freeBytes(config.dataDir), config.poolSizeBytes);
}
