import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { pythonClient } from "../support/published.ts";

const FOLDER = join(CHECKOUT, "e2e/clients/python");
/** Every function of scenarios.py that takes the client's flavour and whose name says so by having no underscore in front. */
const SCENARIOS = [...readFileSync(join(FOLDER, "scenarios.py"), "utf8").matchAll(/^async def ([a-z]\w*)\(flavour\):/gm)].map(
  (match) => match[1] ?? "",
);

/** Some scenarios build many templates. */
const LIMIT_MS = 150_000;

const platform = usePlatform();
let python = "";
beforeAll(async () => {
  python = await pythonClient();
}, 240_000);

test("there are scenarios", () => {
  expect(SCENARIOS.length).toBeGreaterThan(8);
});

for (const flavour of ["sync", "async"]) {
  describe(`PyPI e2b 2.63.0, ${flavour}`, () => {
    for (const scenario of SCENARIOS) {
      test(
        scenario,
        async () => {
          const ended = await runProgram([python, join(FOLDER, "run.py"), flavour, scenario], { env: platform().env, limitMs: LIMIT_MS });
          expect(ended.stdout + ended.stderr).toBe("");
          expect(ended.exitCode).toBe(0);
        },
        LIMIT_MS + 10_000,
      );
    }
  });
}
