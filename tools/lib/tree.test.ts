import { expect, test } from "bun:test";
import { changedFiles, readTree } from "./tree.ts";

test("new, missing and different files are changes", () => {
  const before = new Map(Object.entries({ same: "1", gone: "1", other: "1" }));
  const after = new Map(Object.entries({ same: "1", added: "1", other: "2" }));
  expect(changedFiles(before, after)).toEqual(["added", "gone", "other"]);
});

test("reads a directory with its subdirectories", () => {
  expect([...readTree("tools").keys()]).toContain("tools/lib/tree.ts");
});
