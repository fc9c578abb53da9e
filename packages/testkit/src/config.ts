import { join, resolve } from "node:path";

/** The root of the checkout. */
export const CHECKOUT = resolve(import.meta.dir, "../../..");

export interface TestConfig {
  /** Data directory of the test platform: set up once, used by one test file after another. */
  readonly dataDir: string;
  readonly cacheDir: string;
  /** True where a skip is a failure. */
  readonly ci: boolean;
  /** Data directory of the installation that the suite `hostile` is to attack; undefined: tests start servers of their own. */
  readonly installedDataDir: string | undefined;
  /** File through which a test asks its server for faults (`platform/faults.ts`). */
  readonly faultFile: string | undefined;
  /** Directory of the programs' bundles, which `./boxyard test` makes; undefined: tests start the sources. */
  readonly bundles: string | undefined;
  /** Directory of this run for temporary files in memory; undefined outside of `./boxyard test`. */
  readonly memory: string | undefined;
  /** Directory for the pictures that tests of the dashboard take. */
  readonly pictures: string;
  /** The environment that children inherit. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * `./boxyard test` sets the test platform's own `BOXYARD_DATA` (and the marker variable); called by hand, `bun test` uses the directory
 * `test` of the ordinary one.
 */
export function readTestConfig(env: Readonly<Record<string, string | undefined>> = process.env): TestConfig {
  const data = resolve(env.BOXYARD_DATA || "/var/lib/boxyard");
  return {
    dataDir: env.BOXYARD_TEST_RUN ? data : join(data, "test"),
    cacheDir: resolve(env.BOXYARD_CACHE || join(data, "cache")),
    ci: env.CI !== undefined && !["", "0", "false"].includes(env.CI),
    installedDataDir: env.BOXYARD_TEST_INSTALLED || undefined,
    faultFile: env.BOXYARD_TEST_FAULT_FILE || undefined,
    bundles: env.BOXYARD_TEST_BUNDLES || undefined,
    memory: env.BOXYARD_TEST_MEMORY || undefined,
    pictures: env.BOXYARD_SCREENSHOTS || join(env.TMPDIR || "/tmp", "boxyard-screenshots"),
    env,
  };
}
