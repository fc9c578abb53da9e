import { describe, expect, test } from "bun:test";
import { runProgram } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { SCENARIOS, scenarioProgram } from "../support/scenarios.ts";

const RUNTIMES = { node: "node", bun: process.execPath };
const platform = usePlatform();

/** The published client, unmodified, in a program that has nothing but what `boxyard env` prints. */
for (const [runtime, program] of Object.entries(RUNTIMES)) {
  describe(`npm e2b 2.51.0 on ${runtime}`, () => {
    for (const scenario of SCENARIOS) {
      test(scenario, async () => {
        const ended = await runProgram([program, ...scenarioProgram("e2b", scenario)], { env: platform().env, limitMs: 50_000 });
        expect(ended.stdout + ended.stderr).toBe("");
        expect(ended.exitCode).toBe(0);
      }, 60_000);
    }
  });
}
