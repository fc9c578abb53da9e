import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { usePythonScenarios } from "../support/python-scenarios.ts";

const DIRECTORY = join(CHECKOUT, "e2e/clients/python");
const MODULES = [
  "scenarios",
  "process_scenarios",
  "file_scenarios",
  "git_scenarios",
  "pause_scenarios",
  "volume_scenarios",
  "metric_scenarios",
  "secret_scenarios",
];
/** Every function of these modules that takes the client's flavour and has no underscore in front of its name. */
const SCENARIOS = MODULES.flatMap((module) =>
  [...readFileSync(join(DIRECTORY, `${module}.py`), "utf8").matchAll(/^async def ([a-z]\w*)\(flavour\):/gm)].map((match) => ({
    module,
    name: match[1] ?? "",
  })),
);

/** Some scenarios build many templates. */
const LIMIT_MS = 150_000;

const run = usePythonScenarios(usePlatform());

test("there are scenarios", () => {
  expect(SCENARIOS.length).toBeGreaterThan(20);
});

for (const flavour of ["sync", "async"]) {
  describe(`PyPI e2b 2.63.0, ${flavour}`, () => {
    for (const { module, name } of SCENARIOS) {
      test(
        name,
        async () => {
          expect(await run(flavour, name, module, LIMIT_MS)).toEqual({ exitCode: 0, output: "" });
        },
        LIMIT_MS + 10_000,
      );
    }
  });
}
