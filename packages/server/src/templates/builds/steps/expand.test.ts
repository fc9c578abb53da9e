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

test("the names that a text refers to are found", () => {
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
])("of the source %p the part before any pattern is %p, and never outside", (source, wanted) => {
  expect(withoutPattern(source)).toBe(wanted);
});
