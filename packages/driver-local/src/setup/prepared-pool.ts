import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { poolPaths, renewPoolId, unmountPool } from "../pool-storage/index.ts";
import { lockFile } from "../sys/file-lock.ts";
import { runCommand } from "../sys/run.ts";
import { base } from "./stages/base.ts";
import { writeDone } from "./stamp.ts";
import type { SetupConfig } from "./types.ts";

/** Names of what is kept: the pool's file, and the file of its base template. */
const TEMPLATES = "templates";
const POOL = "pool.img";

interface SetUpDirectory {
  readonly dataDir: string;
  remove(): Promise<void>;
}

/**
 * For tests: gives `config.dataDir`, which is not set up yet, a copy of a pool with the base template, so that set-up does not unpack it again. The
 * pool is kept below `directory`. The first caller makes it: from a data directory that `setUp` makes in `parent`, and that is removed afterwards.
 */
export async function copyPreparedPool(
  config: SetupConfig,
  directory: string,
  setUp: (parent: string) => Promise<SetUpDirectory>,
): Promise<void> {
  const key = base.key(config);
  const kept = `${directory}/${new Bun.CryptoHasher("sha256").update(key).digest("hex").slice(0, 16)}`;
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
  writeDone(config, base.name, key);
}

async function keep(kept: string, made: SetUpDirectory): Promise<void> {
  try {
    const aside = `${kept}.new`;
    rmSync(aside, { recursive: true, force: true });
    mkdirSync(aside, { mode: 0o700 });
    await unmountPool(made.dataDir);
    renameSync(poolPaths(made.dataDir).image, `${aside}/${POOL}`);
    renameSync(`${made.dataDir}/${TEMPLATES}`, `${aside}/${TEMPLATES}`);
    renameSync(aside, kept);
  } finally {
    await made.remove();
  }
}
