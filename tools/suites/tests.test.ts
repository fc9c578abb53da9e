import { expect, test } from "bun:test";
import { testFiles } from "../lib/bun-test.ts";
import { suites } from "./index.ts";

const runners = suites.flatMap((suite) => ("files" in suite ? [suite] : []));

test("every test file belongs to one suite", () => {
  const homes = new Map<string, string[]>();
  for (const suite of runners) for (const file of suite.files([])) homes.set(file, [...(homes.get(file) ?? []), suite.name]);
  const several = [...homes].filter(([, names]) => names.length > 1);
  expect(several).toEqual([]);
  const all = testFiles(["{packages,e2e,tools,bench,images}/**/*.test.ts"], []);
  expect(all.filter((file) => !homes.has(file) && !file.endsWith(".node.test.ts"))).toEqual([]);
});

test("a hostile test, by its directory or its name, is in the suite `hostile` and in no other", () => {
  const hostile = runners.find(({ name }) => name === "hostile")?.files([]) ?? [];
  expect(hostile).toContain("e2e/isolation/escape.test.ts");
  expect(hostile).toContain("packages/driver-local/src/isolation.hostile.test.ts");
});
