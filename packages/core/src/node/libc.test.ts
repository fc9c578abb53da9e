import { ptr } from "bun:ffi";
import { expect, test } from "bun:test";
import { errno, lazyLibc, lazyLibcIfThere } from "./libc.ts";

const EBADF = 9;
const ENOENT = 2;

test("the named functions are loaded, and errno is that of a failed call", () => {
  const libc = lazyLibc("fcntl", "listxattr");
  expect(libc().fcntl(-1, 1, 0)).toBe(-1);
  expect(errno()).toBe(EBADF);
  const path = new TextEncoder().encode("/no/such/file\0");
  expect(Number(libc().listxattr(ptr(path), null, 0))).toBe(-1);
  expect(errno()).toBe(ENOENT);
});

test("a second list is loaded in addition to the first, with the same errno", () => {
  const [first, second] = [lazyLibc("fcntl"), lazyLibc("kill")];
  expect(first().fcntl(-1, 1, 0)).toBe(-1);
  expect(errno()).toBe(EBADF);
  expect(second().kill(process.pid, 0)).toBe(0);
  expect(second()).toBe(second());
  expect("fcntl" in second()).toBe(false);
});

test("lazyLibcIfThere loads the same functions", () => {
  const libc = lazyLibcIfThere("fcntl");
  expect(libc()?.fcntl(-1, 1, 0)).toBe(-1);
  expect(errno()).toBe(EBADF);
  expect(libc()).toBe(libc());
});
