import { afterEach, beforeEach, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LogDestination } from "./log-destination.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-rotation-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const line = (n: number) => `${JSON.stringify({ n, text: "x".repeat(80) })}\n`;
const linesOf = (name: string) =>
  readFileSync(join(directory, name), "utf8")
    .trim()
    .split("\n")
    .map((text) => (JSON.parse(text) as { n: number }).n);

test("logs are bounded in size and number and keep their order, also for lines of other processes", () => {
  const path = join(directory, "log");
  writeFileSync(path, line(0));
  const fd = openSync(path, "a");
  const destination = new LogDestination({ fd, rotation: { path, maxBytes: 1000, keep: 2 } });
  for (let n = 1; n <= 100; n++) {
    destination.write(line(n));
    // As a crash of the process does.
    if (n === 99) appendFileSync(path, line(1000));
  }
  expect(readdirSync(directory).sort()).toEqual(["log", "log.1", "log.2"]);
  const all = ["log.2", "log.1", "log"].flatMap(linesOf);
  expect(all).toContain(1000);
  const own = all.filter((n) => n !== 1000);
  expect(own).toEqual(Array.from({ length: own.length }, (_, i) => 101 - own.length + i));
  for (const name of readdirSync(directory)) expect(statSync(join(directory, name)).size).toBeLessThan(1200);
});

test("where no copy can be made, the log is cut anyway", () => {
  const path = join(directory, "log");
  const fd = openSync(path, "a");
  const destination = new LogDestination({ fd, rotation: { path: join(directory, "elsewhere/log"), maxBytes: 500, keep: 1 } });
  for (let n = 1; n <= 50; n++) destination.write(line(n));
  expect(statSync(path).size).toBeLessThan(700);
});
