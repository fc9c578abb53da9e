import { expect, test } from "bun:test";
import { withoutPattern } from "./copy-step.ts";
import { expand, variablesOf } from "./expand.ts";

const values: Record<string, string> = { A: "one", EMPTY: "", PATH_X: "/x" };

test.each([
  ["$A/b", "one/b"],
  ["$" + "{A}b", "oneb"],
  ["$Ab", ""],
  ["$NONE.", "."],
  ["$" + "{NONE:-d e}", "d e"],
  ["$" + "{EMPTY:-d}", "d"],
  ["$" + "{A:+set}$" + "{NONE:+set}", "set"],
  ["$PATH_X:$PATH_X", "/x:/x"],
  ['\\$A `id` "q" $(id) $1 $ $$', '\\one `id` "q" $(id) $1 $ $$'],
])("%p becomes %p", (text, wanted) => {
  expect(expand(text, (name) => values[name])).toBe(wanted);
});

test("finds the names of a text's variables", () => {
  expect(variablesOf("$A $" + "{B} $" + "{C:-x} $(D) $1")).toEqual(["A", "B", "C"]);
});

test.each([
  ["a.txt", "a.txt"],
  ["src/", "src"],
  ["../src/*.txt", "src"],
  ["*.txt", ""],
  [".", ""],
  ["a/[bc]/d", "a"],
  ["../../etc", "etc"],
  ["/abs/path", "abs/path"],
])("the part of the source %p before its first pattern is %p, never outside of the archive", (source, wanted) => {
  expect(withoutPattern(source)).toBe(wanted);
});
