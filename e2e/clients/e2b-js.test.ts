import { describe, expect, test } from "bun:test";
import { jsScenarios, useJsScenarios } from "../support/js-scenarios.ts";
import { usePlatform } from "../support/platform.ts";

const RUNTIMES = { node: "node", bun: process.execPath };
const platform = usePlatform();

/** The published client, unmodified, in a program that has nothing but what `boxyard env` prints. */
for (const [name, runtime] of Object.entries(RUNTIMES)) {
  describe(`npm e2b 2.51.0 on ${name}`, () => {
    const run = useJsScenarios({ platform, runtime, client: () => "e2b" });
    for (const scenario of jsScenarios("scenarios")) {
      test(scenario, async () => {
        expect(await run("scenarios", scenario, 50_000)).toEqual({ exitCode: 0, output: "" });
      }, 60_000);
    }
  });
}
