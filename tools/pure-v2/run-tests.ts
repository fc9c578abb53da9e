import { existsSync } from "node:fs";
import { cp, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { baseTarName } from "@boxyard/driver-local/setup";
import { boot } from "./boot.ts";
import { copyCheckout } from "./checkout-copy.ts";
import { type GuestImage, guestImage, makeDisk, readFromDisk } from "./image.ts";

export interface GuestTestOptions {
  /** Where images are kept from run to run. */
  readonly cacheDir: string;
  /** A data directory of the same sources that was set up: its guest bundle is taken, since compiling in the guest would take minutes. */
  readonly dataDir: string;
  /** Test files, relative to the checkout. */
  readonly files: readonly string[];
  /** For the whole guest. */
  readonly limitMs: number;
  readonly testLimitMs: number;
  readonly onText?: (text: string) => void;
}

export interface GuestTestResult {
  readonly file: string;
  /** The JUnit report; undefined when the guest did not get so far. */
  readonly report: string | undefined;
}

export interface GuestRun {
  readonly console: string;
  readonly results: readonly GuestTestResult[];
}

/** Sets the platform up inside a guest with pure cgroup v2 and runs `bun test` there on each file. */
export async function runTestsInGuest(options: GuestTestOptions): Promise<GuestRun> {
  const image = await guestImage(options.cacheDir);
  const work = join(options.cacheDir, "pure-v2", `run-${process.pid}`);
  const disk = join(work, "disk");
  try {
    await rm(work, { recursive: true, force: true });
    await copyCheckout(join(work, "boxyard"));
    await copySetUpParts(options, image, work);
    await makeDisk(image, disk, { boxyard: join(work, "boxyard"), data: join(work, "data"), cache: join(work, "cache") }, job(options));
    const { console } = await boot(image, disk, options.limitMs, options.onText);
    const results: GuestTestResult[] = [];
    for (const [index, file] of options.files.entries()) results.push({ file, report: await readFromDisk(disk, `/out/${index}.xml`) });
    return { console, results };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** What set-up compiles, and under the base template's name the small tree. The rest of the set-up happens in the guest. */
async function copySetUpParts({ dataDir }: GuestTestOptions, image: GuestImage, work: string): Promise<void> {
  await mkdir(join(work, "data"), { recursive: true });
  await mkdir(join(work, "cache"), { recursive: true });
  if (!existsSync(join(dataDir, "guest/current"))) throw new Error(`${dataDir} holds no guest bundle: set it up first`);
  for (const name of ["guest", "bin"]) await cp(join(dataDir, name), join(work, "data", name), { recursive: true, verbatimSymlinks: true });
  await cp(join(dataDir, "setup.json"), join(work, "data/setup.json"));
  await cp(image.sandboxTar, join(work, "cache", baseTarName()));
}

function job({ files, testLimitMs }: GuestTestOptions): string {
  const tests = files.map(
    (file, index) =>
      `echo "=== ${file}"; $bun test --timeout=${testLimitMs} --reporter=junit --reporter-outfile=/out/${index}.xml ./${file} || failed=1`,
  );
  return `#!/bin/bash
export BOXYARD_DATA=/data BOXYARD_CACHE=/cache BOXYARD_POOL_SIZE=4G BOXYARD_TEST_EMULATED=1 BOXYARD_TEST_POOL=/prepared CI=true
cd /boxyard || exit 1
bun=$(ls -d /boxyard/node_modules/@oven/bun-linux-*/bin/bun | head -n 1)
mkdir -p /out
failed=0
${tests.join("\n")}
exit $failed
`;
}
