import { describe, expect, test } from "bun:test";
import { unlessAborted, within } from "./within.ts";

const NEVER = new Promise<never>(() => {});
const LONG_MS = 3600_000;
const late = () => new Error("late");

describe("within", () => {
  test("gives the result or the failure of work that ends in time", async () => {
    expect(await within(Promise.resolve(1), LONG_MS, late)).toBe(1);
    await expect(within(Promise.reject(new Error("no")), LONG_MS, late)).rejects.toThrow("no");
  });

  test("fails with the given error at the limit; a failure of the work after it is ignored", async () => {
    const work = Promise.withResolvers<never>();
    await expect(within(work.promise, 1, late)).rejects.toThrow("late");
    // A rejection that nothing handles would fail the test.
    work.reject(new Error("no"));
    await Bun.sleep(0);
  });
});

describe("unlessAborted", () => {
  test("gives the result or the failure of work that ends first", async () => {
    const { signal } = new AbortController();
    expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1);
    await expect(unlessAborted(Promise.reject(new Error("no")), signal)).rejects.toThrow("no");
  });

  test("fails with the reason of an abort, also of one before the call", async () => {
    const abort = new AbortController();
    const waiting = unlessAborted(NEVER, abort.signal);
    abort.abort(new Error("stop"));
    await expect(waiting).rejects.toThrow("stop");
    await expect(unlessAborted(Promise.resolve(1), abort.signal)).rejects.toThrow("stop");
    await expect(unlessAborted(Promise.reject(new Error("no")), abort.signal)).rejects.toThrow("stop");
  });
});
