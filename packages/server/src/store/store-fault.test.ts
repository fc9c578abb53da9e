import { expect, test } from "bun:test";
import { isDiskFull, isStoreAway, storeFault } from "./store-fault.ts";

const failed = (code: string) => Object.assign(new Error("failed"), { code });

test("on a full disk an error of input and output is the disk's, and one of locks is not", () => {
  const reasons = ["SQLITE_IOERR_WRITE", "SQLITE_BUSY", "SQLITE_LOCKED"].map((code) => storeFault(failed(code), "The store", true)?.reason);
  expect(reasons).toEqual(["store_full", "store_unavailable", "store_unavailable"]);
  expect(storeFault(failed("SQLITE_IOERR_WRITE"))?.reason).toBe("store_unavailable");
});

test("a disk that can't be looked at is not called full", () => {
  expect(isDiskFull("/proc/none/of/these/boxyard.db")).toBe(false);
});

test("a damaged store is not one that comes back", () => {
  const isAway = ["SQLITE_CORRUPT", "SQLITE_FULL", "SQLITE_BUSY", "57P03"].map((code) => isStoreAway(storeFault(failed(code))));
  expect(isAway).toEqual([false, true, true, true]);
});
