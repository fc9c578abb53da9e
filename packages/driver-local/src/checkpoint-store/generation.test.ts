import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAppError, newSandboxId } from "@boxyard/core";
import { Generations } from "./generation.ts";

const pool = mkdtempSync(join(tmpdir(), "boxyard-generations-"));
afterAll(() => rmSync(pool, { recursive: true }));

test("while the pool is not mounted, calls fail, instead of answering that there is no generation or that all are removed", async () => {
  const root = join(pool, "generations");
  const generations = new Generations(root, newSandboxId());
  expect(() => generations.whole()).toThrow("not mounted now");
  for (const work of [() => generations.removeAll(), () => generations.begin(1)]) {
    expect(isAppError(await work().catch((error: unknown) => error), "unavailable")).toBe(true);
  }
  expect(readdirSync(pool)).toEqual([]);
  mkdirSync(root);
  expect(generations.whole()).toBeUndefined();
  await generations.removeAll();
});
