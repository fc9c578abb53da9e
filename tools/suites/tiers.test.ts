import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../config.ts";
import { suites } from "./index.ts";
import { filesIn, hasSuite, TIERS, tierTable } from "./tiers.ts";

const runners = suites.flatMap((suite) => ("files" in suite ? [suite] : []));

test("every suite has a tier, every row a suite, and every pattern a file", () => {
  const named = new Set(TIERS.map(({ suite }) => suite));
  expect(suites.map(({ name }) => name).filter((name) => !named.has(name))).toEqual([]);
  for (const { suite, files } of TIERS) {
    const found = suites.find(({ name }) => name === suite);
    expect([suite, found !== undefined]).toEqual([suite, true]);
    if (files)
      expect([
        files,
        runners
          .find(({ name }) => name === suite)
          ?.files([])
          .some((file) => files.test(file)),
      ]).toEqual([files, true]);
  }
});

test("each suite that a tier has also has what it needs there", () => {
  for (const tier of ["quick", "all", "long"] as const) {
    for (const suite of suites.filter(({ name }) => hasSuite(tier, name))) {
      expect([tier, suite.name, (suite.needs ?? []).filter((need) => !hasSuite(tier, need))]).toEqual([tier, suite.name, []]);
    }
  }
});

test("what quick runs, all runs too; the first row about a file counts", () => {
  for (const { tiers, suite } of TIERS) if (tiers.includes("quick")) expect([suite, tiers.includes("all")]).toEqual([suite, true]);
  const files = ["e2e/front-door/run.test.ts", "e2e/front-door/walk.test.ts", "e2e/faults/kernel-faults.test.ts"];
  const found = (["quick", "all", "long"] as const).map((tier) => filesIn(tier, "e2e", files).length);
  expect(found).toEqual([1, 3, 1]);
});

test("CONTRIBUTING.md shows the table", () => {
  const [, shown] = /<!-- tiers -->\n([\s\S]*?)\n<!-- \/tiers -->/.exec(readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8")) ?? [];
  expect(shown).toBe(tierTable());
});
