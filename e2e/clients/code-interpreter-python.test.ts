import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT } from "@boxyard/testkit";
import { ensureCodeInterpreter } from "../support/code-interpreter.ts";
import { usePlatform } from "../support/platform.ts";
import { usePythonScenarios } from "../support/python-scenarios.ts";

const DIRECTORY = join(CHECKOUT, "e2e/clients/python");
const SCENARIOS = [...readFileSync(join(DIRECTORY, "code_scenarios.py"), "utf8").matchAll(/^async def ([a-z]\w*)\(flavour\):/gm)].map(
  (match) => match[1] ?? "",
);

const platform = usePlatform();
const run = usePythonScenarios(platform);
beforeAll(async () => {
  await ensureCodeInterpreter(platform());
}, 240_000);

test("there are scenarios", () => {
  expect(SCENARIOS.length).toBeGreaterThan(2);
});

for (const flavour of ["sync", "async"]) {
  describe(`PyPI e2b-code-interpreter 2.11.5, ${flavour}`, () => {
    for (const scenario of SCENARIOS) {
      test(scenario, async () => {
        expect(await run(flavour, scenario, "code_scenarios", 100_000)).toEqual({ exitCode: 0, output: "" });
      }, 110_000);
    }
  });
}
