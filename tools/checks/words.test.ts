import { expect, test } from "bun:test";
import { documentFiles } from "../lib/files.ts";
import { checkWords } from "./words.ts";

test("a refused word is found with its line, and plain text is accepted", () => {
  const found = checkWords({ path: "a.ts", text: "/** Removes it. */\n/** Whoever calls must wait. */" });
  expect(found).toEqual([{ path: "a.ts", line: 2, message: expect.stringContaining("the caller") }]);
  expect(checkWords({ path: "a.ts", text: "The caller must wait." })).toEqual([]);
});

test("documents of all directories are checked", () => {
  const paths = documentFiles().map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(["README.md", "docs/limitations.md", "docs/contract/agent.md"]));
  expect(paths).not.toContain("CHANGELOG.md");
});
