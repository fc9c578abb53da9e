import { expect, test } from "bun:test";
import { isDiskFull, isStoreAway, storeFault } from "./store-fault.ts";

const failed = (code: string) => Object.assign(new Error("failed"), { code });

test("on a full disk an error of input and output means a full store, and an error of locks does not", () => {
  const reasons = ["SQLITE_IOERR_WRITE", "SQLITE_BUSY", "SQLITE_LOCKED"].map((code) => storeFault(failed(code), "The store", true)?.reason);
  expect(reasons).toEqual(["store_full", "store_unavailable", "store_unavailable"]);
  expect(storeFault(failed("SQLITE_IOERR_WRITE"))?.reason).toBe("store_unavailable");
});

test("a disk that cannot be examined does not count as full", () => {
  expect(isDiskFull("/proc/none/of/these/boxyard.db")).toBe(false);
});

test("a damaged store does not count as one that comes back", () => {
  const isAway = ["SQLITE_CORRUPT", "SQLITE_FULL", "SQLITE_BUSY", "57P03"].map((code) => isStoreAway(storeFault(failed(code))));
  expect(isAway).toEqual([false, true, true, true]);
});
