import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bun, SERVER, type SuiteContext } from "./suite.ts";

/** Data directories that tests make for themselves (`makeTestDataDir`). */
const OF_TESTS = /^boxyard-data-/;
const LIMIT_MS = 120_000;

type Env = Readonly<Record<string, string>>;

/**
 * Gives back what a test file that failed has left: sandboxes of the test platform, and data directories of its own, when no other file can be
 * using one. Otherwise the second try, and every file after it that compares the whole machine, would find them. What can't be given back stays, for
 * the suite `leaks` to report.
 */
export async function tidyUp(context: SuiteContext, env: Env, isOnly: boolean): Promise<void> {
  const server = (verb: readonly string[], dataDir?: string) =>
    context.command([bun, SERVER, ...verb], {
      env: { ...env, ...(dataDir !== undefined && { BOXYARD_DATA: dataDir }) },
      limitMs: LIMIT_MS,
    });
  await server(["release", "--sandboxes"]);
  await server(["setup"]);
  const { TMPDIR } = context.config.env;
  if (!isOnly || TMPDIR === undefined) return;
  for (const name of readdirSync(TMPDIR).filter((entry) => OF_TESTS.test(entry))) {
    const dataDir = join(TMPDIR, name);
    await server(["release", "--sandboxes"], dataDir);
    if (!readFileSync("/proc/self/mountinfo", "utf8").includes(` ${dataDir}/`)) rmSync(dataDir, { recursive: true, force: true });
  }
}
