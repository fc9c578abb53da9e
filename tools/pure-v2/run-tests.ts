import { existsSync } from "node:fs";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { baseTarName } from "@boxyard/driver-local/setup";
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

export interface GuestTestResult {
  readonly file: string;
  /** The JUnit report; undefined if the guest ended before it wrote one. */
  readonly report: string | undefined;
}

export interface GuestRun {
  readonly console: string;
  /** CPU time of the emulator. */
  readonly cpuMs: number;
  readonly results: readonly GuestTestResult[];
}

/** Sets the platform up inside a guest with pure cgroup v2 and runs `bun test` there on each file. */
export async function runTestsInGuest(options: GuestTestOptions): Promise<GuestRun> {
  const image = await guestImage(options.cacheDir);
  const work = join(options.cacheDir, "pure-v2", `run-${process.pid}`);
  const tree = join(work, "tree");
  const disk = join(work, "disk");
  try {
    await rm(work, { recursive: true, force: true });
    await copyCheckout(join(tree, "boxyard"));
    await copySetUpParts(options, tree);
    await preparePool(options, image, work, join(tree, "prepared"));
    await writeFile(join(tree, "job"), job(options), { mode: 0o755 });
    await makeDisk(tree, disk);
    const { console, cpuMs } = await boot(image, disk, options);
    const results: GuestTestResult[] = [];
    for (const [index, file] of options.files.entries()) results.push({ file, report: await readFromDisk(disk, `/out/${index}.xml`) });
    return { console, cpuMs, results };
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

function job({ files, testLimitMs }: GuestTestOptions): string {
  const tests = files.map(
    (file, index) =>
      `echo "=== ${file}"; $bun test --timeout=${testLimitMs} --reporter=junit --reporter-outfile=/work/out/${index}.xml ./${file} || failed=1`,
  );
  return `#!/bin/bash
export BOXYARD_DATA=/work/data BOXYARD_CACHE=/work/cache BOXYARD_POOL_SIZE=4G BOXYARD_TEST_EMULATED=1 BOXYARD_TEST_POOL=/work/prepared CI=true
cd /work/boxyard || exit 1
bun=$(ls -d /work/boxyard/node_modules/@oven/bun-linux-*/bin/bun | head -n 1)
mkdir -p /work/out
failed=0
${tests.join("\n")}
exit $failed
`;
}
