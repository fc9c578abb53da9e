import { expect, test } from "bun:test";
import { checkCircles } from "./circles.ts";

const source = (path: string, ...imports: string[]) => ({
  path: `packages/x/src/${path}`,
  text: imports.map((to) => `import { it } from "${to}";\n`).join(""),
});
const check = (...sources: ReturnType<typeof source>[]) => checkCircles(sources);

test("finds directories that import each other, though no files do", () => {
  const sources = [
    source("a/one.ts", "../b/two.ts"),
    source("a/four.ts"),
    source("b/two.ts"),
    source("b/three.ts", "./two.ts", "../a/four.ts"),
    source("c/five.ts", "../a/one.ts"),
  ];
  expect(check(...sources)).toEqual([
    {
      path: "packages/x/src/a/one.ts",
      line: 1,
      message:
        "directories form a circle: packages/x/src/a/ → packages/x/src/b/ (packages/x/src/a/one.ts imports packages/x/src/b/two.ts) → " +
        "packages/x/src/a/ (packages/x/src/b/three.ts imports packages/x/src/a/four.ts)",
    },
  ]);
});

test("finds circles over several directories, deeper ones, and those of a file and a directory", () => {
  expect(
    check(source("a/i.ts", "../b/i.ts"), source("b/i.ts", "../c/i.ts"), source("c/i.ts", "../a/j.ts"), source("a/j.ts")).map(
      ({ line }) => line,
    ),
  ).toEqual([1]);
  expect(check(source("d/a/i.ts", "../b/i.ts"), source("d/b/i.ts"), source("d/b/j.ts", "../a/j.ts"), source("d/a/j.ts"))).toHaveLength(1);
  expect(check(source("top.ts"), source("a/i.ts", "../top.ts"), source("a/j.ts"), source("other.ts", "./a/j.ts"))).toEqual([]);
  expect(check(source("top.ts", "./a/j.ts"), source("a/i.ts", "../top.ts"), source("a/j.ts"))).toHaveLength(1);
});

test("leaves out tests, circles of files alone, and what is in no package", () => {
  expect(check(source("a/i.ts", "../b/i.ts"), source("b/i.ts"), source("b/i.test.ts", "../a/i.ts"))).toEqual([]);
  expect(check(source("one.ts", "./two.ts"), source("two.ts", "./one.ts"))).toEqual([]);
  const inPackage = [source("a/i.ts", "../b/i.ts"), source("b/i.ts", "../a/i.ts")];
  expect(checkCircles(inPackage)).toHaveLength(1);
  expect(checkCircles(inPackage.map(({ path, text }) => ({ path: path.replace("packages/x/src", "tools/x"), text })))).toEqual([]);
});
