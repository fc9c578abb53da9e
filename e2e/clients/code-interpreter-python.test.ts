import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { ensureCodeInterpreter } from "../support/code-interpreter.ts";
import { usePlatform } from "../support/platform.ts";
import { pythonClient } from "../support/published.ts";

const DIRECTORY = join(CHECKOUT, "e2e/clients/python");
const SCENARIOS = [...readFileSync(join(DIRECTORY, "code_scenarios.py"), "utf8").matchAll(/^async def ([a-z]\w*)\(flavour\):/gm)].map(
  (match) => match[1] ?? "",
);

const platform = usePlatform();
let python = "";
beforeAll(async () => {
  python = await pythonClient();
  await ensureCodeInterpreter(platform());
}, 240_000);

test("there are scenarios", () => {
  expect(SCENARIOS.length).toBeGreaterThan(2);
});

for (const flavour of ["sync", "async"]) {
  describe(`PyPI e2b-code-interpreter 2.11.5, ${flavour}`, () => {
    for (const scenario of SCENARIOS) {
      test(scenario, async () => {
        const argv = [python, join(DIRECTORY, "run.py"), flavour, scenario, "code_scenarios"];
        const ended = await runProgram(argv, { env: platform().env, limitMs: 100_000 });
        expect(ended.stdout + ended.stderr).toBe("");
        expect(ended.exitCode).toBe(0);
      }, 110_000);
    }
  });
}
