import { expect, test } from "bun:test";
import { plainField } from "./mountinfo.ts";

test("a path of mountinfo is read without the kernel's escapes", () => {
  expect(plainField("/mnt/a\\040b\\011c\\012d\\134e")).toBe("/mnt/a b\tc\nd\\e");
  expect(plainField("/mnt/\\134040")).toBe("/mnt/\\040");
});
