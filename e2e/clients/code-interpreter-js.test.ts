import { beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { ensureCodeInterpreter } from "../support/code-interpreter.ts";
import { usePlatform } from "../support/platform.ts";
import { olderNpmClients } from "../support/published.ts";

const DIRECTORY = join(CHECKOUT, "e2e/clients/js");
const SCENARIOS = readdirSync(join(DIRECTORY, "code-interpreter")).map((file) => file.replace(/\.mjs$/, ""));

const platform = usePlatform();
let client = "";
beforeAll(async () => {
  client = join(await olderNpmClients(), "node_modules/@e2b/code-interpreter/dist/index.mjs");
  await ensureCodeInterpreter(platform());
}, 240_000);

describe("npm @e2b/code-interpreter 2.8.0 on node", () => {
  for (const scenario of SCENARIOS) {
    test(scenario, async () => {
      const argv = ["node", join(DIRECTORY, "run.mjs"), client, scenario, "code-interpreter"];
      const ended = await runProgram(argv, { env: platform().env, limitMs: 100_000 });
      expect(ended.stdout + ended.stderr).toBe("");
      expect(ended.exitCode).toBe(0);
    }, 110_000);
  }
});
