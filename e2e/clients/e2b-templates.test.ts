import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";

const DIRECTORY = join(CHECKOUT, "e2e/clients/js");
const SCENARIOS = readdirSync(join(DIRECTORY, "templates"))
  .filter((file) => file.endsWith(".mjs") && file !== "tools.mjs")
  .map((file) => file.replace(/\.mjs$/, ""))
  .sort();
const LIMIT_MS = 150_000;

const platform = usePlatform();

/** `Template.build` of the published client, unmodified. */
describe("npm e2b 2.51.0 builds templates", () => {
  for (const scenario of SCENARIOS) {
    test(
      scenario,
      async () => {
        const argv = ["node", join(DIRECTORY, "run.mjs"), "e2b", scenario, "templates"];
        const ended = await runProgram(argv, { env: platform().env, limitMs: LIMIT_MS });
        expect(ended.stdout + ended.stderr).toBe("");
        expect(ended.exitCode).toBe(0);
      },
      LIMIT_MS + 10_000,
    );
  }
});
