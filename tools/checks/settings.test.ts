import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SETTINGS } from "@boxyard/spec/config";

const ROOT = join(import.meta.dir, "../..");
/** Variables for tests, and those that one program of Boxyard sets for another. */
const INTERNAL = /^BOXYARD_(TEST|AGENT|INIT|BUILD$)/;

test("every variable that a program reads is a documented setting", async () => {
  const names = new Set<string>(SETTINGS.map(({ name }) => name));
  const read = new Set<string>();
  for await (const path of new Bun.Glob("packages/{server,driver-local,cli,sdk}/src/**/config.ts").scan(ROOT)) {
    for (const [name] of readFileSync(join(ROOT, path), "utf8").matchAll(/\bBOXYARD_[A-Z_]*[A-Z]\b/g)) read.add(name);
  }
  expect(read.size).toBeGreaterThan(20);
  expect([...read].filter((name) => !names.has(name) && !INTERNAL.test(name))).toEqual([]);
});
