import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { bootPlatform, type Platform, runProgram } from "@boxyard/testkit";

const FOLDER = join(import.meta.dir, "js");
const SCENARIOS = readdirSync(join(FOLDER, "scenarios"))
  .map((file) => file.replace(/\.mjs$/, ""))
  .sort();
const RUNTIMES = { node: "node", bun: process.execPath };

let platform: Platform;
beforeAll(async () => {
  platform = await bootPlatform();
});
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]();
});

/** The published client, unmodified, in a program that has nothing but what `boxyard env` prints. */
for (const [runtime, program] of Object.entries(RUNTIMES)) {
  describe(`npm e2b 2.51.0 on ${runtime}`, () => {
    for (const scenario of SCENARIOS) {
      test(scenario, async () => {
        const ended = await runProgram([program, join(FOLDER, "run.mjs"), "e2b", scenario], { env: platform.env, limitMs: 50_000 });
        expect(ended.stdout + ended.stderr).toBe("");
        expect(ended.exitCode).toBe(0);
      }, 60_000);
    }
  });
}
