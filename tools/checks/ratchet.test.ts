import { expect, test } from "bun:test";
import { checkRatchets } from "./ratchet.ts";

const ratchets = [{ what: "calls of `wait`", form: /\bwait\(/g, most: 2 }];
const at = (path: string, calls: number) => ({ path, text: "wait();\n".repeat(calls) });

test("more than there were are refused, and fewer are to be written down; only tests count", () => {
  expect(checkRatchets([at("packages/x/src/a.test.ts", 1), at("e2e/b.test.ts", 1), at("packages/x/src/a.ts", 5)], ratchets)).toEqual([]);
  expect(checkRatchets([at("e2e/b.test.ts", 3)], ratchets)).toEqual([
    expect.stringContaining("3 calls of `wait` in the tests, and 2 may be there"),
  ]);
  expect(checkRatchets([at("e2e/b.test.ts", 1)], ratchets)).toEqual([expect.stringContaining("only 1 calls of `wait` are left")]);
});
