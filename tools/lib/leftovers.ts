import { existsSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ToolsConfig, testDataDirs } from "../config.ts";
import { bun, SERVER, type SuiteContext } from "./suite.ts";
import { endedRuns } from "./temporary.ts";

const LIMIT_MS = 120_000;

/** Data directories that tests make for themselves (`makeTestDataDir`). */
export const OF_TESTS = /^boxyard-data-/;

/**
 * Data directories that test runs which were killed have left: those of the test platforms, and those that test files made in the temporary
 * directories of these runs.
 */
function leftDataDirs(config: ToolsConfig, parent: string): string[] {
  const ofFiles = endedRuns(parent).flatMap((run) =>
    readdirSync(run)
      .filter((name) => OF_TESTS.test(name))
      .map((name) => join(run, name)),
  );
  return [...testDataDirs(config).filter((path) => existsSync(path)), ...ofFiles];
}

/**
 * Removes what earlier test runs have left, also runs that were killed: their sandboxes, mounts, loop devices, links, tables and files. A run of CI
 * begins with it, so that its result does not depend on what a machine had to do before. A server that still runs on one of the directories keeps it:
 * `uninstall` refuses. Returns a line for each directory.
 */
export async function removeLeftovers(config: ToolsConfig, command: SuiteContext["command"], parent = tmpdir()): Promise<string[]> {
  const lines: string[] = [];
  for (const dataDir of leftDataDirs(config, parent)) {
    const { exitCode, output } = await command([bun, SERVER, "uninstall"], { env: { BOXYARD_DATA: dataDir }, limitMs: LIMIT_MS });
    // Files of the tests' own stay: for example the faults that a killed test had told the server to inject.
    if (exitCode === 0) rmSync(dataDir, { recursive: true, force: true });
    lines.push(exitCode === 0 ? `removed what an earlier run left in ${dataDir}` : `${dataDir} could not be removed: ${output.trim()}`);
  }
  return lines;
}
