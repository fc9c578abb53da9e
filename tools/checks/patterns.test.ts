import { expect, test } from "bun:test";
import { checkPatterns } from "./patterns.ts";

const found = (text: string, path = "packages/server/src/a.ts") =>
  checkPatterns({ path, text }).map(({ line, message }) => `${line} ${message.split(":")[0]}`);

test("patterns that backtrack, or read the same characters from every position, are found", () => {
  expect(found("const a: RegExp =\n  /^(a+)+$/;")).toEqual(["2 /^(a+)+$/ may take exponential time"]);
  expect(found('x.replace(/\\/+$/, "")')).toEqual(["1 /\\/+$/ may take quadratic time"]);
  expect(found('f(/([a-z_]+)=(?:"([^"]*)"|([^\\s",]+))/gi)')).toHaveLength(1);
  expect(found("/^\\s*(\\S+)\\s*(.*)$/.test(y)")).toHaveLength(1);
  expect(found('new RegExp("a+b+a+$")')).toHaveLength(1);
  expect(found(`RegExp(\`^\${name}\\\\s*\\\\s*$\`, "m")`)).toHaveLength(1);
});

test("linear patterns, other code with slashes, and code that is not shipped are not reported", () => {
  expect(found("/^[a-z]+$/; /^(\\d+):(\\d+)/; a / b / c; `/a+$/`; // /(a+)+$/")).toEqual([]);
  expect(found("/(a+)+$/", "packages/server/src/a.test.ts")).toEqual([]);
  expect(found("/(a+)+$/", "packages/cli/src/a.ts")).toEqual([]);
});
