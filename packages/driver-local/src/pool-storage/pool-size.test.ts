import { expect, test } from "bun:test";
import { poolSize } from "./image.ts";
import { digestHex, diskName } from "./paths.ts";

const GIB = 1024 ** 3;

test("the pool may grow to a share of the free disk, in whole GiB", () => {
  expect(poolSize(100 * GIB)).toBe(60 * GIB);
  expect(poolSize(11.5 * GIB)).toBe(6 * GIB);
  expect(() => poolSize(5 * GIB)).toThrow("only 5.0 GiB of disk are free");
});

test("a configured size is used, unless it is below the minimum", () => {
  expect(poolSize(GIB, 8 * GIB + 5)).toBe(8 * GIB);
  expect(() => poolSize(100 * GIB, GIB)).toThrow("BOXYARD_POOL_SIZE");
});

test("names are one path component", () => {
  expect(diskName("iabc-1")).toBe("iabc-1");
  for (const bad of ["", ".", "..", "a/b", "-a", ".x"]) expect(() => diskName(bad)).toThrow();
  expect(digestHex(`sha256:${"0a".repeat(32)}`)).toBe("0a".repeat(32));
  for (const bad of ["", "sha256:..", `sha256:${"A".repeat(64)}`, `sha512:${"a".repeat(64)}`]) expect(() => digestHex(bad)).toThrow();
});
