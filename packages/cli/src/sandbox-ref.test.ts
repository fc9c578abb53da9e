import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { ConnectionOptions } from "@boxyard/sdk";
import { FAKE_API_KEY, FakePlatform } from "@boxyard/sdk/testing";
import { checkName, resolveSandbox } from "./sandbox-ref.ts";

const platform = new FakePlatform();
let target: ConnectionOptions;

beforeAll(async () => {
  target = { apiUrl: await platform.start(), apiKey: FAKE_API_KEY };
});
afterAll(() => platform.stop());
beforeEach(() => platform.sandboxes.clear());

const [SOURCE, FORK, OTHER] = ["i111111111111111111aa", "i111111111111111111bb", "i222222222222222222cc"] as const;
const add = (id: string, name?: string) =>
  platform.sandboxes.set(id, { endAt: Date.now() + 60_000, metadata: name === undefined ? {} : { name } });

test("a name that several sandboxes have, as a fork and its source, is refused with their ids", async () => {
  add(SOURCE, "web");
  add(FORK, "web");
  add(OTHER, "other");
  await expect(resolveSandbox("web", target)).rejects.toMatchObject({
    message: "2 sandboxes have the name 'web': give the id of one",
    reason: "usage",
    details: { hint: `${SOURCE}\n${FORK}` },
  });
  expect(await resolveSandbox(FORK, target)).toBe(FORK);
  platform.sandboxes.delete(SOURCE);
  expect(await resolveSandbox("web", target)).toBe(FORK);
});

test("a name goes before the beginning of an id, which only one may have", async () => {
  add(SOURCE);
  add(FORK);
  await expect(resolveSandbox("i111", target)).rejects.toMatchObject({
    message: "2 sandboxes have ids that begin with 'i111'",
    details: { hint: `${SOURCE}\n${FORK}` },
  });
  add(OTHER, "i111");
  expect(await resolveSandbox("i111", target)).toBe(OTHER);
  expect(await resolveSandbox(SOURCE.slice(0, 20), target)).toBe(SOURCE);
  await expect(resolveSandbox("i333", target)).rejects.toMatchObject({ reason: "sandbox_not_found" });
});

test("a sandbox's own name goes before names in metadata", async () => {
  add(SOURCE, "web");
  platform.named.set("web", OTHER);
  expect(await resolveSandbox("web", target)).toBe(OTHER);
  platform.named.clear();
  expect(await resolveSandbox("web", target)).toBe(SOURCE);
});

test("what looks like an id, or stands for a path, is no name", () => {
  expect(checkName("free")).toBe("free");
  for (const name of [SOURCE, "a b", "a:b", "-a"]) expect(() => checkName(name)).toThrow("cannot be the name");
});
