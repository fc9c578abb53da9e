import { existsSync, statSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { isPoolMounted, makePoolImage, mountPool, poolPaths } from "../../pool-storage/index.ts";
import { filesystemId } from "../../sys/btrfs.ts";
import { findProgram, runCommand } from "../../sys/run.ts";
import { readInstance, writeInstance } from "../instance-file.ts";
import type { Stage } from "../types.ts";

const REPLACED =
  "this is another pool than before: rebuild your templates ('boxyard template rebuild', for each), 'base' is made again by itself";

export const pool: Stage = {
  name: "pool",
  title: "storage pool",
  key: () => "1",
  isDone: ({ dataDir }) => isPoolMounted(dataDir) && readInstance(dataDir)?.poolId === filesystemId(poolPaths(dataDir).root),
  async run({ dataDir }, report) {
    const { image } = poolPaths(dataDir);
    await loadModules();
    if (!existsSync(image)) {
      const size = readInstance(dataDir)?.poolSizeBytes;
      if (size === undefined) throw new AppError("internal", "the stage of the pool ran before the stage of the instance");
      await makePoolImage(image, size);
    }
    await mountPool(dataDir);
    const replaced = noteIdentity(dataDir);
    report.result(`up to ${(statSync(image).size / 1024 ** 3).toFixed(0)} GiB in ${image}${replaced ? `; ${REPLACED}` : ""}`);
  },
};

/** Writes the pool's id to the instance file. True when there was another pool before, whose content is lost. */
function noteIdentity(dataDir: string): boolean {
  const file = readInstance(dataDir);
  const poolId = filesystemId(poolPaths(dataDir).root);
  if (!file || file.poolId === poolId) return false;
  writeInstance(dataDir, { ...file, poolId });
  return file.poolId !== undefined;
}

/** The kernel loads most of these modules at first use, but not all of them. */
async function loadModules(): Promise<void> {
  if (findProgram("modprobe") === undefined) return;
  // Fails on a kernel without modules. If a feature is missing, the step that needs it fails.
  for (const module of ["loop", "btrfs", "overlay"]) await runCommand(["modprobe", "--quiet", module]).catch(() => {});
}
