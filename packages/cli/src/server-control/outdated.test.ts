import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isOutdated } from "./outdated.ts";

const directory = mkdtempSync(join(tmpdir(), "boxyard-outdated-"));
afterAll(() => rmSync(directory, { recursive: true }));

test("a server is outdated when a source of it is younger, and tests are no sources", () => {
  const sources = join(directory, "packages/driver/src/deep");
  mkdirSync(sources, { recursive: true });
  const write = (path: string, secondsAgo: number) => {
    writeFileSync(path, "");
    utimesSync(path, Date.now() / 1000 - secondsAgo, Date.now() / 1000 - secondsAgo);
  };
  const packages = join(directory, "packages");
  expect(isOutdated(directory, packages)).toBe(false);
  write(join(directory, "server.json"), 100);
  write(join(sources, "a.ts"), 200);
  write(join(sources, "a.test.ts"), 50);
  expect(isOutdated(directory, packages)).toBe(false);
  write(join(sources, "b.ts"), 50);
  expect(isOutdated(directory, packages)).toBe(true);
  expect(isOutdated(directory, join(directory, "nowhere"))).toBe(false);
});
