import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmdirSync } from "node:fs";
import { readInstance } from "./setup/index.ts";
import { writeInstance } from "./setup/instance-file.ts";
import { TestMachine } from "./testing/machine.ts";

/** Two data directories on one machine. */

let first: TestMachine;
let second: TestMachine;
beforeAll(async () => {
  first = await TestMachine.make();
  second = await TestMachine.make();
}, 600_000);
afterAll(async () => {
  await second?.dispose();
  await first?.dispose();
}, 60_000);

const networkOf = (machine: TestMachine) => readInstance(machine.dataDir)?.network ?? "";

/** Gives the second data directory the range of the first, as if both had been set up while neither was open. */
async function takeRangeOfFirst(): Promise<void> {
  await second.driver.release();
  const file = readInstance(second.dataDir);
  if (!file) throw new Error("no instance");
  writeInstance(second.dataDir, { ...file, network: networkOf(first) });
}

test("without sandboxes, a range that another server uses is replaced by a free one", async () => {
  await takeRangeOfFirst();
  await second.reopen();
  expect(networkOf(second)).toMatch(/^\d+\.\d+\.0\.0\/16$/);
  expect(networkOf(second)).not.toBe(networkOf(first));
  const handles = [await first.boot(), await second.boot()];
  expect((await first.driver.inspect(handles[0] as (typeof handles)[0])).phase).toBe("running");
  expect((await second.driver.inspect(handles[1] as (typeof handles)[0])).phase).toBe("running");
}, 60_000);

test("with sandboxes, the range is kept and the open fails with network_overlap", async () => {
  await second.destroyAll();
  await takeRangeOfFirst();
  const sandbox = `${second.dataDir}/sandboxes/iaaaaaaaaaaaaaaaaaaaa`;
  mkdirSync(sandbox);
  try {
    expect(await second.reopen().catch((error) => error)).toMatchObject({ reason: "network_overlap" });
  } finally {
    rmdirSync(sandbox);
  }
}, 60_000);

test("with sandboxes, they can be ended although the range is in use by others, and the file keeps the range", async () => {
  await second.reopen();
  await takeRangeOfFirst();
  const sandbox = `${second.dataDir}/sandboxes/iaaaaaaaaaaaaaaaaaaaa`;
  mkdirSync(sandbox);
  await second.reopen({ ending: true });
  expect(networkOf(second)).toBe(networkOf(first));
  await second.destroyAll();
  expect(existsSync(sandbox)).toBe(false);
}, 60_000);
