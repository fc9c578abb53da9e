import { parseJunit, type TestCase } from "../lib/junit.ts";
import { addTallies, failedOne, type Suite, type Tally } from "../lib/suite.ts";
import { runTestsInGuest } from "../pure-v2/run-tests.ts";

/** Tests of what every machine of a user must do: make sandboxes with crun and runc, enforce their limits, isolate them. More would be too slow under emulation. */
const FILES = [
  "packages/driver-local/src/driver.root.test.ts",
  "packages/driver-local/src/isolation.hostile.test.ts",
  "packages/driver-local/src/limits.root.test.ts",
  "packages/driver-local/src/driver-runc.root.test.ts",
  "packages/driver-local/src/held-memory.hostile.test.ts",
] as const;

const LIMIT_MS = 1_500_000;

export const pureV2: Suite = {
  name: "pure-v2",
  proves: "in an emulated guest with pure cgroup v2, the driver's tests pass with crun and with runc",
  limitMs: LIMIT_MS,
  needs: ["needs", "platform"],
  run: async ({ config, only, say, interrupted: signal }) => {
    const files = FILES.filter((file) => only.length === 0 || only.some((part) => file.includes(part)));
    if (files.length === 0) return failedOne("no test ran");
    const { cacheDir, testDataDir: dataDir, env } = config;
    const limits = { limitMs: LIMIT_MS - 60_000, testLimitMs: 120_000, signal };
    const run = await runTestsInGuest({ cacheDir, dataDir, files, env, ...limits });
    const cases = run.report === undefined ? [] : parseJunit(run.report);
    const tallies = files.map((file) => {
      const tally = tallyOf(cases.filter((one) => one.file === file));
      say(`  ${tally.failed > 0 ? "✗" : "·"} ${file}  ${tally.passed} passed, ${tally.failed} failed`);
      return tally;
    });
    // The report does not contain a failure outside of the tests.
    if (run.exitCode !== 0 && tallies.every(({ failed }) => failed === 0)) {
      tallies.push(failedOne(`'bun test' in the guest: exit code ${run.exitCode ?? "unknown"}`));
    }
    const total = { ...addTallies(tallies), cpuMs: run.cpuMs };
    return total.failed > 0 ? { ...total, output: `${run.console.replaceAll("\r", "")}\n${total.output}` } : total;
  },
};

/** A skipped test counts as failed: the guest has everything that set-up installs on a user's machine. */
function tallyOf(cases: readonly TestCase[]): Tally {
  const notPassed = cases.filter(({ outcome }) => outcome !== "passed");
  if (cases.length === 0) return failedOne("the guest gave no report");
  return { passed: cases.length - notPassed.length, failed: notPassed.length, skipped: [], output: "" };
}
