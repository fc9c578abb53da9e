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
    cacheDir: resolve(env.BOXYARD_CACHE || join(dataDir, "cache")),
    env,
  };
}

/** The same, with everything that the children of a test run leave in a temporary directory kept in this one. */
export function withTemporaryDirectory(config: ToolsConfig, path: string): ToolsConfig {
  return { ...config, env: { ...config.env, TMPDIR: path, TMUX_TMPDIR: path } };
}
