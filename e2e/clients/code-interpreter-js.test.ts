import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { ensureCodeInterpreter } from "../support/code-interpreter.ts";
import { jsScenarios, useJsScenarios } from "../support/js-scenarios.ts";
import { usePlatform } from "../support/platform.ts";
import { olderNpmClients } from "../support/published.ts";

const platform = usePlatform();
let client = "";
beforeAll(async () => {
  client = join(await olderNpmClients(), "node_modules/@e2b/code-interpreter/dist/index.mjs");
  await ensureCodeInterpreter(platform());
}, 240_000);

describe("npm @e2b/code-interpreter 2.8.0 on node", () => {
  const run = useJsScenarios({ platform, runtime: "node", client: () => client });
  for (const scenario of jsScenarios("code-interpreter")) {
    test(scenario, async () => {
      expect(await run("code-interpreter", scenario, 100_000)).toEqual({ exitCode: 0, output: "" });
    }, 110_000);
  }
});
