import { expect, test } from "bun:test";
import { holdsMount } from "./mounts.ts";

test.each([
  ["/proc", true],
  ["/sys", true],
  ["/pro", false],
  ["/proc/self", false],
  ["/no such", false],
])("%s is or holds a mount point: %p", (path, expected) => {
  expect(holdsMount(Buffer.from(path))).toBe(expected);
});
