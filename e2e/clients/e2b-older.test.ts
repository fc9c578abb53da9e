import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { runProgram } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { olderNpmClients } from "../support/published.ts";
import { SCENARIOS, scenarioProgram } from "../support/scenarios.ts";

const platform = usePlatform();
let client = "";
beforeAll(async () => {
  client = join(await olderNpmClients(), "node_modules/e2b/dist/index.mjs");
}, 240_000);

/** The older paths: `POST /sandboxes`, `POST /sandboxes/{id}/connect`, one fixed set of fields. */
describe("npm e2b 2.45.0 on node", () => {
  for (const scenario of SCENARIOS) {
    test(scenario, async () => {
      const ended = await runProgram(["node", ...scenarioProgram(client, scenario)], { env: platform().env, limitMs: 50_000 });
      expect(ended.stdout + ended.stderr).toBe("");
      expect(ended.exitCode).toBe(0);
    }, 60_000);
  }
});
