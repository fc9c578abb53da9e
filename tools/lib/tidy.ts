import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { OF_TESTS } from "./leftovers.ts";
import { bun, SERVER, type SuiteContext } from "./suite.ts";

const LIMIT_MS = 120_000;

type Env = Readonly<Record<string, string>>;

/**
 * Removes what a failed test file has left: sandboxes of the test platform and, if no other file can be using them, data directories that tests
 * made. Otherwise the second run, and every later file that compares the whole machine, would find them. The suite `leaks` reports what cannot be
 * removed.
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
