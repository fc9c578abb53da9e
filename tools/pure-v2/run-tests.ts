import { existsSync } from "node:fs";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { baseTar, baseTarName, readSetupConfig } from "@boxyard/driver-local/setup";
import { boot } from "./boot.ts";
import { copyCheckout } from "./checkout-copy.ts";
import { type GuestImage, guestImage, makeDisk, readFromDisk } from "./image.ts";
import { sh } from "./sh.ts";

export interface GuestTestOptions {
  /** Directory that keeps images for later runs. */
  readonly cacheDir: string;
  /** A data directory that was set up from the same sources. The guest uses its guest bundle, because compiling in the guest would take minutes. */
  readonly dataDir: string;
  /** Test files, relative to the checkout. */
  readonly files: readonly string[];
  /** Limit for the whole run of the guest. */
  readonly limitMs: number;
  readonly testLimitMs: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onText?: (text: string) => void;
  /** Stops the guest. */
  readonly signal?: AbortSignal;
}

export interface GuestRun {
  readonly console: string;
  /** CPU time of the emulator. */
  readonly cpuMs: number;
  /** Exit code of `bun test`; undefined if the guest ended before it. */
  readonly exitCode: number | undefined;
  /** The JUnit report; undefined if the guest ended before it wrote one. */
  readonly report: string | undefined;
}

/** Sets the platform up inside a guest with pure cgroup v2 and runs `bun test` there on the files. */
export async function runTestsInGuest(options: GuestTestOptions): Promise<GuestRun> {
  const { cacheDir, env } = options;
  const image = await guestImage(cacheDir, await baseTar({ ...readSetupConfig(env), cacheDir }, { progress() {}, result() {} }));
  const work = join(cacheDir, "pure-v2", `run-${process.pid}`);
  const tree = join(work, "tree");
  const disk = join(work, "disk");
  try {
    await rm(work, { recursive: true, force: true });
    await copyCheckout(join(tree, "boxyard"));
    await copySetUpParts(options, tree);
    await preparePool(options, image, work, join(tree, "prepared"));
    await writeFile(join(tree, "job"), job(options), { mode: 0o755 });
    await makeDisk(tree, disk);
    return { ...(await boot(image, disk, options)), report: await readFromDisk(disk, "/report.xml") };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Copies what set-up compiles. The guest does the rest of the set-up. */
async function copySetUpParts({ dataDir }: GuestTestOptions, tree: string): Promise<void> {
  await mkdir(join(tree, "data"), { recursive: true });
  if (!existsSync(join(dataDir, "guest/current"))) throw new Error(`${dataDir} holds no guest bundle: set it up first`);
  for (const name of ["guest", "bin"]) await cp(join(dataDir, name), join(tree, "data", name), { recursive: true, verbatimSymlinks: true });
  await cp(join(dataDir, "setup.json"), join(tree, "data/setup.json"));
}

/** Makes a pool with the small tree under the name of the base template. */
async function preparePool({ env }: GuestTestOptions, image: GuestImage, work: string, prepared: string): Promise<void> {
  const cache = join(work, "cache");
  await mkdir(cache);
  await cp(image.sandboxTar, join(cache, baseTarName()));
  const program = [process.execPath, join(import.meta.dir, "make-pool.ts"), prepared];
  await sh(["unshare", "--mount", "--propagation", "private", ...program], {
    env: { ...env, BOXYARD_DATA: join(work, "pool"), BOXYARD_CACHE: cache },
  });
}

/**
 * One process runs all files, so that the same sources are loaded and compiled once: that takes seconds of CPU time under emulation. The data directories
 * are on the disk: on tmpfs, the blocks that a pool allocates ahead are memory, and to clear it takes three seconds of CPU time for each file.
 */
function job({ files, testLimitMs }: GuestTestOptions): string {
  const paths = files.map((file) => `./${file}`).join(" ");
  return `#!/bin/bash
export BOXYARD_DATA=/work/data BOXYARD_CACHE=/work/cache BOXYARD_POOL_SIZE=4G BOXYARD_TEST_EMULATED=1 BOXYARD_TEST_POOL=/work/prepared TMPDIR=/work/tmp CI=true
mkdir /work/tmp
cd /work/boxyard || exit 1
bun=$(ls -d /work/boxyard/node_modules/@oven/bun-linux-*/bin/bun | head -n 1)
exec $bun test --timeout=${testLimitMs} --reporter=junit --reporter-outfile=/work/report.xml ${paths}
`;
}
