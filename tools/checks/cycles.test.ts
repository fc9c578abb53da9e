import { expect, test } from "bun:test";
import { checkCycles } from "./cycles.ts";

const source = (path: string, ...imports: string[]) => ({ path, text: imports.map((line) => `${line}\n`).join("") });

test("finds files that import each other, directly or through other files, type imports included", () => {
  const sources = [
    source("packages/x/src/a.ts", 'import { b } from "./b.ts";'),
    source("packages/x/src/b.ts", 'import type { C } from "./deep/c.ts";'),
    source("packages/x/src/deep/c.ts", "", 'export * from "../a.ts";'),
    source("packages/x/src/outside.ts", 'import { a } from "./a.ts";'),
  ];
  expect(checkCycles(sources)).toEqual([
    {
      path: "packages/x/src/a.ts",
      line: 1,
      message: "imports itself in a cycle: packages/x/src/a.ts → packages/x/src/b.ts → packages/x/src/deep/c.ts → packages/x/src/a.ts",
    },
  ]);
});

test("finds a file that imports itself, and reports connected cycles once", () => {
  const sources = [
    source("a.ts", 'import "./a.ts";'),
    source("b.ts", 'import { c } from "./c.ts";'),
    source("c.ts", 'import { b } from "./b.ts";', 'import { d } from "./d.ts";'),
    source("d.ts", 'import { c } from "./c.ts";'),
  ];
  expect(checkCycles(sources).map(({ path, line }) => [path, line])).toEqual([
    ["a.ts", 1],
    ["b.ts", 1],
  ]);
});

test("accepts imports without a cycle, imports of packages by name, and comments", () => {
  const sources = [
    source("a.ts", 'import { b } from "./b.ts";', 'import { c } from "@boxyard/core";'),
    source("b.ts", '// import { a } from "./a.ts";', 'import { gone } from "./gone.ts";'),
  ];
  expect(checkCycles(sources)).toEqual([]);
});
