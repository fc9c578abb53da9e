import { describe, expect, test } from "bun:test";
import { jsScenarios, useJsScenarios } from "../support/js-scenarios.ts";
import { usePlatform } from "../support/platform.ts";

const LIMIT_MS = 150_000;

const run = useJsScenarios({ platform: usePlatform(), runtime: "node", client: () => "e2b" });

/** `Template.build` of the published client, unmodified. */
describe("npm e2b 2.51.0 builds templates", () => {
  for (const scenario of jsScenarios("templates")) {
    test(
      scenario,
      async () => {
        expect(await run("templates", scenario, LIMIT_MS)).toEqual({ exitCode: 0, output: "" });
      },
      LIMIT_MS + 10_000,
    );
  }
});
