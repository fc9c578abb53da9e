import { existsSync, statSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { chooseNetwork, claimRange } from "../../network/index.ts";
import { freeBytes, poolPaths, poolSize } from "../../pool-storage/index.ts";
import { hasBothCopies, instanceName, readInstance, writeInstance } from "../instance-file.ts";
import { hasSandboxes, isRangeFree } from "../range.ts";
import type { SetupConfig, Stage } from "../types.ts";

export const instance: Stage = {
  name: "instance",
  title: "instance",
  key: ({ network }) => `network ${network ?? "any"}`,
  isDone({ dataDir }) {
    const file = readInstance(dataDir);
    // Another data directory may have got the same range while neither had a server; the first one that starts keeps it.
    return file !== undefined && hasBothCopies(dataDir) && (hasSandboxes(dataDir) || isRangeFree(file));
  },
  async run(config, report) {
    const poolId = readInstance(config.dataDir)?.poolId;
    const file = {
      version: 1,
      instance: instanceName(config.dataDir),
      network: await networkOf(config),
      poolSizeBytes: poolSizeOf(config),
      ...(poolId !== undefined && { poolId }),
    } as const;
    writeInstance(config.dataDir, file);
    report.result(`${file.instance}, ${file.network}`);
  },
};

async function networkOf({ dataDir, network }: SetupConfig): Promise<string> {
  const before = readInstance(dataDir);
  const isAsked = before !== undefined && (network === undefined || network === before.network);
  if (before && isAsked && (hasSandboxes(dataDir) || isRangeFree(before))) return claimRange(dataDir, () => before.network);
  if (before && hasSandboxes(dataDir)) {
    throw new AppError(
      "failed_precondition",
      `there are sandboxes with addresses of ${before.network}: end them ('boxyard down --sandboxes') before you change BOXYARD_NETWORK`,
      { reason: "sandboxes_left" },
    );
  }
  return chooseNetwork({ instance: instanceName(dataDir), dataDir, ...(network !== undefined && { wanted: network }) });
}

/** An existing pool keeps its size. */
function poolSizeOf(config: SetupConfig): number {
  const { image } = poolPaths(config.dataDir);
  return existsSync(image) ? statSync(image).size : poolSize(freeBytes(config.dataDir), config.poolSizeBytes);
}
