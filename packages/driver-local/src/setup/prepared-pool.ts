import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { makePoolImage, makeUsualSeeds, poolPaths, renewPoolId, unmountPool } from "../pool-storage/index.ts";
import { lockFile } from "../sys/file-lock.ts";
import { runCommand } from "../sys/run.ts";
import { base } from "./stages/base.ts";
import { writeDone } from "./stamp.ts";
import type { SetupConfig } from "./types.ts";

/** Names of what is kept: the pool's file, and the file of its base template. */
const TEMPLATES = "templates";
const POOL = "pool.img";
const POOL_BYTES = 8 * 1024 ** 3;

interface SetUpDirectory {
  readonly dataDir: string;
  remove(): Promise<void>;
}

/**
 * For tests: gives `config.dataDir`, which is not set up yet, a copy of a pool with the base template and two inode seeds, so that set-up does
 * not unpack the one again, nor the driver make the others. The pool is kept below `directory`. The first caller makes it: from a data directory that
 * `setUp` makes in `parent`, and that is removed afterwards.
 */
export async function copyPreparedPool(
  config: SetupConfig,
  directory: string,
  setUp: (parent: string) => Promise<SetUpDirectory>,
): Promise<void> {
  const kept = keptIn(directory, config);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const lock = await lockFile(`${directory}/lock`);
  try {
    if (!existsSync(kept)) await keep(kept, await setUp(directory));
  } finally {
    lock.release();
  }
  const { image } = poolPaths(config.dataDir);
  await runCommand(["cp", "--sparse=auto", `${kept}/${POOL}`, image]);
  renewPoolId(image);
  await runCommand(["cp", "--recursive", `${kept}/${TEMPLATES}`, `${config.dataDir}/${TEMPLATES}`]);
  writeDone(config, base.name, base.key(config));
}

/**
 * For tests on another machine, whose kernel is older: makes the pool that `copyPreparedPool` finds below `directory`, in `config.dataDir`, which
 * does not exist yet. It has no quotas: simple ones would keep older kernels from mounting it. They are turned on where it is mounted as a pool.
 */
export async function makePreparedPool(config: SetupConfig, directory: string): Promise<void> {
  const { image, root, layers, facts, making } = poolPaths(config.dataDir);
  mkdirSync(root, { recursive: true, mode: 0o700 });
  await makePoolImage(image, POOL_BYTES);
  await runCommand(["mount", "-o", "loop,noatime", image, root]);
  try {
    for (const path of [layers, facts, making]) mkdirSync(path, { mode: 0o700 });
    await base.run(config, { progress() {}, result() {} });
    await makeUsualSeeds(config.dataDir);
  } finally {
    await runCommand(["umount", root]);
  }
  moveInto(keptIn(directory, config), config.dataDir);
}

const keptIn = (directory: string, config: SetupConfig): string =>
  `${directory}/${new Bun.CryptoHasher("sha256").update(base.key(config)).digest("hex").slice(0, 16)}`;

async function keep(kept: string, made: SetUpDirectory): Promise<void> {
  try {
    // Else each copy makes its own when they are needed: half a second of CPU time, under emulation 8 seconds.
    await makeUsualSeeds(made.dataDir);
    await unmountPool(made.dataDir);
    moveInto(kept, made.dataDir);
  } finally {
    await made.remove();
  }
}

function moveInto(kept: string, dataDir: string): void {
  const aside = `${kept}.new`;
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(aside, { recursive: true, mode: 0o700 });
  renameSync(poolPaths(dataDir).image, `${aside}/${POOL}`);
  renameSync(`${dataDir}/${TEMPLATES}`, `${aside}/${TEMPLATES}`);
  renameSync(aside, kept);
}
