import { describe, expect, test } from "bun:test";
import { baseName, resolvePath } from "./resolve-path.ts";

const user = { home: "/home/user" };
const resolve = (path: string, defaultWorkdir?: string) => resolvePath({ defaultWorkdir }, user, path);

describe("resolvePath (docs/contract/agent.md, Paths)", () => {
  test.each([
    ["/a/b", "/a/b"],
    ["/a/../b//c/./", "/a/../b//c/./"],
    ["a/b", "/home/user/a/b"],
    ["a/../../other/x", "/home/other/x"],
    ["dir/", "/home/user/dir"],
    [".", "/home/user"],
    ["~", "/home/user"],
    ["~/", "/home/user"],
    ["~/a", "/home/user/a"],
    ["a~b", "/home/user/a~b"],
    ["", "/home/user"],
    [" ", "/home/user/ "],
  ])("%j is %s", (path, expected) => {
    expect(resolve(path)).toBe(expected);
  });

  test("empty is the default working directory where there is one, which may itself be relative or ~", () => {
    expect([resolve("", "/work"), resolve("", "~/x"), resolve("", "y"), resolve("z", "/work")]).toEqual([
      "/work",
      "/home/user/x",
      "/home/user/y",
      "/home/user/z",
    ]);
  });

  test("a user without a home starts at the root", () => {
    expect(resolvePath({ defaultWorkdir: undefined }, { home: "" }, "a")).toBe("/a");
  });

  test.each(["~other", "~other/x", "~~", "a\0b", "\0", "\ud800", `/${"a/".repeat(2048)}`, "é".repeat(2048)])("%j is refused", (path) => {
    expect(() => resolve(path)).toThrow(expect.objectContaining({ code: "invalid_argument", reason: "bad_path" }));
  });

  test("an absolute path has at most 4,095 bytes, with the home directory", () => {
    expect(resolve(`/${"a".repeat(4094)}`)).toHaveLength(4095);
    expect(() => resolve("a".repeat(4090))).toThrow("longer");
  });
});

test("baseName", () => {
  expect(["/a/b", "/a/b/", "/", "a"].map(baseName)).toEqual(["b", "b", "/", "a"]);
});
