import { expect, test } from "bun:test";
import { checkWords } from "./words.ts";

test("a word of our own making is found with its line, and plain text is not", () => {
  const found = checkWords({ path: "a.ts", text: "/** Removes it. */\n/** Whoever calls must wait. */" });
  expect(found).toEqual([{ path: "a.ts", line: 2, message: expect.stringContaining("the caller") }]);
  expect(checkWords({ path: "a.ts", text: "The caller must wait." })).toEqual([]);
});
