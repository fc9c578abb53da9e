import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { makePipe } from "./native.ts";

test("a pipe whose chown fails is closed", () => {
  const open = () => readdirSync("/proc/self/fd").length;
  const nobody = { uid: 2 ** 32, gid: 0 };
  expect(() => makePipe("read", nobody)).toThrow();
  const before = open();
  for (let i = 0; i < 10; i++) expect(() => makePipe("read", nobody)).toThrow();
  expect(open()).toBe(before);
});
