import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { jsScenarios, useJsScenarios } from "../support/js-scenarios.ts";
import { usePlatform } from "../support/platform.ts";
import { olderNpmClients } from "../support/published.ts";

const platform = usePlatform();
let client = "";
beforeAll(async () => {
  client = join(await olderNpmClients(), "node_modules/e2b/dist/index.mjs");
}, 240_000);

/** Scenarios about what this version does not know: `httpsPorts` of the network. */
const LATER = ["way-in"];

/** The older paths: `POST /sandboxes`, `POST /sandboxes/{id}/connect`, one fixed set of fields. */
describe("npm e2b 2.45.0 on node", () => {
  const run = useJsScenarios({ platform, runtime: "node", client: () => client });
  for (const scenario of jsScenarios("scenarios").filter((name) => !LATER.includes(name))) {
    test(scenario, async () => {
      expect(await run("scenarios", scenario, 50_000)).toEqual({ exitCode: 0, output: "" });
    }, 60_000);
  }
});
