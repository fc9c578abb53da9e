import { expect, test } from "bun:test";
import { eventually } from "./eventually.ts";

test("returns the first truthy result", async () => {
  let looks = 0;
  expect(await eventually("three looks", () => ++looks >= 3 && looks, { everyMs: 1 })).toBe(3);
});

test("fails at the deadline and says what was waited for and why it last failed", async () => {
  const never = eventually("the moon", () => Promise.reject(new Error("cloudy")), { withinMs: 10, everyMs: 1 });
  await expect(never).rejects.toMatchObject({ code: "deadline_exceeded", message: "Not within 10 ms: the moon: cloudy" });
});
