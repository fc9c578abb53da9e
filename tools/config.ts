import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";

/** The root of the checkout. */
export const ROOT = resolve(import.meta.dir, "..");

/** What the tools read from the environment; the one place here that does. */
export interface ToolsConfig {
  /** True on a machine where no skip is allowed but those of docs/skips.md, and any leak fails the run. */
  readonly ci: boolean;
  /** Data directory of the checkout's own platform; the tests use `test` in it. */
  readonly dataDir: string;
  /** The test platform's data directory. */
  readonly testDataDir: string;
  /** How many files of the suites that share the lanes run at once, each on a platform of its own. */
  readonly lanes: number;
  /** Built images and bundles, kept from run to run. */
  readonly cacheDir: string;
  /** The whole environment, to pass on to children. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function readConfig(env: Readonly<Record<string, string | undefined>> = process.env): ToolsConfig {
  const dataDir = resolve(env.BOXYARD_DATA || "/var/lib/boxyard");
  return {
    ci: env.CI !== undefined && !["", "0", "false"].includes(env.CI),
    dataDir,
    testDataDir: join(dataDir, "test"),
    lanes: Math.max(1, Number(env.BOXYARD_TEST_LANES) || Math.min(4, availableParallelism() + 2)),
    cacheDir: resolve(env.BOXYARD_CACHE || join(dataDir, "cache")),
    env,
  };
}

/** Data directories of the test platforms: one for each lane, the first of them for all other suites too. */
export function testDataDirs({ testDataDir, lanes }: ToolsConfig): readonly string[] {
  return Array.from({ length: lanes }, (_, lane) => (lane === 0 ? testDataDir : `${testDataDir}-${lane + 1}`));
}

/**
 * The servers of tests have no warm pool: many tests count processes, cgroups, mounts or files of the machine before and after what they do, and the pool makes
 * sandboxes in the background after any create. Tests of the pool switch it on for their own server.
 */
const WITHOUT_POOL = { BOXYARD_WARM_SANDBOXES: "0" };

/**
 * The same, with everything that the children of a test run leave in a temporary directory kept in this one, and there a pool and the
 * bundles of the programs, which test files share. `memory`: the directory for what is better kept in memory.
 */
export function withTemporaryDirectory(config: ToolsConfig, path: string, memory = path): ToolsConfig {
  const shared = {
    BOXYARD_TEST_POOL: join(path, "prepared-pool"),
    BOXYARD_TEST_BUNDLES: join(path, "bundles"),
    BOXYARD_TEST_MEMORY: memory,
  };
  return { ...config, env: { ...WITHOUT_POOL, ...config.env, TMPDIR: path, TMUX_TMPDIR: path, ...shared } };
}

/** The same, with the time for the tests that run as long as they are told (`BOXYARD_CHAOS_SECONDS`), if one is given. */
export function withSeconds(config: ToolsConfig, seconds: number | undefined): ToolsConfig {
  return seconds === undefined ? config : { ...config, env: { ...config.env, BOXYARD_CHAOS_SECONDS: `${seconds}` } };
}
