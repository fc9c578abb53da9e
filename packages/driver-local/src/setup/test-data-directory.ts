import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freeRange } from "../network/index.ts";
import { unmountPool } from "../pool-storage/index.ts";
import { readSetupConfig } from "./config.ts";
import { copyPreparedPool } from "./prepared-pool.ts";
import { silentReporter } from "./reporter.ts";
import { runSetup } from "./run-setup.ts";
import { checkpoint } from "./stages/checkpoint.ts";
import { forkServer } from "./stages/fork-server.ts";
import { guest } from "./stages/guest.ts";
import { readDone, writeDone } from "./stamp.ts";
import type { SetupConfig, Stage } from "./types.ts";

export interface TestDataDir extends AsyncDisposable {
  readonly config: SetupConfig;
  readonly dataDir: string;
  /** Unmounts the pool and removes the directory. */
  remove(): Promise<void>;
}

export interface TestDataDirOptions {
  readonly cacheDir?: string;
  /** Directory in which the data directory is made; default: the temporary directory. */
  readonly parent?: string;
  /** A directory in which test files share a pool with the base template; without it set-up unpacks the template. */
  readonly prepared?: string;
  /** Range of its sandboxes; default: that of `BOXYARD_NETWORK`, or a free one. */
  readonly network?: string;
}

/** For tests: makes a new data directory and sets it up. Takes some seconds when the cache has the base template's tree, less with a prepared pool. */
export async function makeTestDataDir(options: TestDataDirOptions = {}): Promise<TestDataDir> {
  const { cacheDir, parent = tmpdir(), prepared } = options;
  const dataDir = mkdtempSync(join(parent, "boxyard-data-"));
  const ours = readSetupConfig();
  const network = options.network ?? ours.network;
  const config: SetupConfig = {
    env: ours.env,
    dataDir,
    cacheDir: cacheDir ?? ours.cacheDir,
    poolSizeBytes: 8 * 1024 ** 3,
    ...(network !== undefined && { network }),
  };
  const remove = async () => {
    await unmountPool(dataDir);
    await freeRange(dataDir);
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    for (const [path, stage] of Object.entries(BORROWED)) await borrow(path, stage, ours.dataDir, config);
    if (prepared !== undefined) await copyPreparedPool(config, prepared, (beside) => makeTestDataDir({ parent: beside }));
    await runSetup(config, silentReporter);
  } catch (error) {
    await remove();
    throw error;
  }
  return { config, dataDir, remove, [Symbol.asyncDispose]: remove };
}

/**
 * Stages whose result is borrowed, each with the path of it: two compile, which takes seconds (on an emulated machine, a minute), and one tries CRIU.
 * The facts about CRIU name the files of the lender, which are used in place.
 */
const BORROWED: Readonly<Record<string, Stage>> = { guest, bin: forkServer, "criu/criu.json": checkpoint };

/** Copies the result of a stage from a data directory of the same version. */
async function borrow(path: string, stage: Stage, from: string, to: SetupConfig): Promise<void> {
  const key = stage.key(to);
  const source = { ...to, dataDir: from };
  if (readDone(source)[stage.name] !== key || !(await stage.isDone(source))) return;
  cpSync(`${from}/${path}`, `${to.dataDir}/${path}`, { recursive: true, verbatimSymlinks: true });
  writeDone(to, stage.name, key);
}
