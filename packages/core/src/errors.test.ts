import { expect, test } from "bun:test";
import { AppError, ERROR_CODES, HTTP_STATUS, isAppError, isRetryable, wrapError } from "./errors.ts";
import { isSandboxId, newSandboxId, newTemplateId, parseSandboxId } from "./ids.ts";

test("there are the 16 codes, each with an HTTP status of an error", () => {
  expect(new Set(ERROR_CODES).size).toBe(16);
  for (const code of ERROR_CODES) expect(HTTP_STATUS[code]).toBeWithin(400, 600);
  expect(ERROR_CODES.filter(isRetryable)).toEqual(["aborted", "unavailable"]);
});

test("the reason of an error is its code by default; isAppError matches either", () => {
  const plain = new AppError("not_found", "There is none");
  const exact = new AppError("not_found", "There is none", { reason: "sandbox_not_found", details: { a: 1 } });
  expect([plain.reason, exact.reason, exact.details]).toEqual(["not_found", "sandbox_not_found", { a: 1 }]);
  expect([isAppError(exact), isAppError(exact, "not_found"), isAppError(exact, "sandbox_not_found")]).toEqual([true, true, true]);
  expect([isAppError(exact, "other"), isAppError(new Error("x")), isAppError(undefined)]).toEqual([false, false, false]);
});

test("a wrapped error keeps code, reason and details, and begins with the operation", () => {
  const cause = new AppError("unavailable", "no room", { reason: "full", details: { retryAfter: 2 } });
  expect(wrapError("starting", cause)).toMatchObject({
    code: "unavailable",
    reason: "full",
    details: { retryAfter: 2 },
    message: "starting: no room",
    cause,
  });
  expect(wrapError("starting", new TypeError("x is not a function"))).toMatchObject({
    code: "internal",
    message: "starting: x is not a function",
  });
  expect(wrapError("starting", "text").message).toBe("starting: text");
});

test("ids have their form, and the suffix of older clients is dropped", () => {
  const ids = Array.from({ length: 200 }, newSandboxId);
  expect(new Set(ids).size).toBe(200);
  for (const id of ids) expect([isSandboxId(id), parseSandboxId(id), parseSandboxId(`${id}-abc`)]).toEqual([true, id, id]);
  expect(newTemplateId()).toMatch(/^[a-z0-9]{20}$/);
  for (const text of ["", "i", `${ids[0]}x`, `I${ids[0]?.slice(1)}`, `x${ids[0]?.slice(1)}`, "../etc"]) {
    expect([text, isSandboxId(text)]).toEqual([text, false]);
    expect(() => parseSandboxId(text)).toThrow(AppError);
  }
});
