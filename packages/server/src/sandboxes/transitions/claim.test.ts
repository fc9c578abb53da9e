import { expect, test } from "bun:test";
import { claim } from "./claim.ts";

test("an owner that slept until its claim gives the agent nothing of the user", async () => {
  const init = claim.steps.find(({ name }) => name === "init");
  let asked = 0;
  const agent = { init: async () => void asked++ };
  const check = () => {
    throw new Error("another replica owns the sandboxes");
  };
  const context = { parts: { permit: { isValid: false, check }, agent }, input: {}, template: {} };
  const running = init?.run(context as never, undefined as never, new AbortController().signal);
  await expect(running).rejects.toThrow("another replica");
  expect(asked).toBe(0);
});
