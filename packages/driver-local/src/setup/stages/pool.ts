import { existsSync, statSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { isPoolMounted, makePoolImage, mountPool, poolPaths } from "../../pool-storage/index.ts";
import { findProgram, runCommand } from "../../sys/run.ts";
import { readInstance } from "../instance-file.ts";
import type { Stage } from "../types.ts";

export const pool: Stage = {
  name: "pool",
  title: "storage pool",
  key: () => "1",
  isDone: ({ dataDir }) => isPoolMounted(dataDir),
  async run({ dataDir }, report) {
    const { image } = poolPaths(dataDir);
    await loadModules();
    if (!existsSync(image)) {
      const size = readInstance(dataDir)?.poolSizeBytes;
      if (size === undefined) throw new AppError("internal", "the pool was to be made before its instance");
      await makePoolImage(image, size);
    }
    await mountPool(dataDir);
    report.result(`up to ${(statSync(image).size / 1024 ** 3).toFixed(0)} GiB in ${image}`);
  },
};

/** Where these are not built into the kernel they are loaded at first use, but not all of them by themselves. */
async function loadModules(): Promise<void> {
  if (findProgram("modprobe") === undefined) return;
  // A kernel without modules says no; then a missing one shows in the step that needs it.
  for (const module of ["loop", "btrfs", "overlay"]) await runCommand(["modprobe", "--quiet", module]).catch(() => {});
}
