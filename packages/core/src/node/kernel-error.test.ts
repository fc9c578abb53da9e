import { expect, test } from "bun:test";
import { constants } from "node:os";
import { fromErrno, KernelError } from "./errno.ts";
import { errnoName } from "./kernel-error.ts";

/** The second names of numbers with two names. */
const ALIASES = ["EWOULDBLOCK", "ENOTSUP", "EDEADLOCK"];

test("numbers that Node knows have Node's names", () => {
  const known = Object.entries(constants.errno).filter(([name]) => !ALIASES.includes(name));
  expect(known.length).toBeGreaterThan(70);
  expect(known.map(([, number]) => errnoName(number))).toEqual(known.map(([name]) => name));
});

test("numbers that Node does not know have the kernel's names, and unknown numbers become `E<number>`", () => {
  expect([15, 87, 117, 132, 133].map(errnoName)).toEqual(["ENOTBLK", "EUSERS", "EUCLEAN", "ERFKILL", "EHWPOISON"]);
  expect([0, 41, 58, 134, 999].map(errnoName)).toEqual(["E0", "E41", "E58", "E134", "E999"]);
});

test("a refusal for lack of user namespaces is a lack of resources", () => {
  expect(fromErrno("unshare", new KernelError("unshare", 87))).toMatchObject({ code: "resource_exhausted", reason: "eusers" });
});
