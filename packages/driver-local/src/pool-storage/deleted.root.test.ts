import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { isInstalled } from "../setup/index.ts";
import { TestMachine } from "../testing/machine.ts";
import { isPoolMounted, poolPaths } from "./index.ts";

let machine: TestMachine;
beforeAll(async () => {
  machine = await TestMachine.make();
}, 600_000);
// Once the pool is gone, no driver can be opened on this directory, as `dispose` does.
afterAll(() => (machine && isPoolMounted(machine.dataDir) ? machine.dispose() : machine?.directory.remove()), 60_000);

test("a pool whose file is deleted while it is mounted goes on, doctor says so, and it can be released", async () => {
  const { dataDir } = machine;
  const before = await machine.boot();
  rmSync(poolPaths(dataDir).image);
  const after = await machine.boot();
  await machine.reopen();
  for (const handle of [before, after]) expect((await machine.driver.inspect(handle)).phase).toBe("running");
  const check = (await machine.driver.fingerprint()).checks.find(({ name }) => name === "pool");
  expect([check?.status, check?.found]).toEqual(["warn", expect.stringContaining("was deleted while it is mounted")]);
  expect(isInstalled(dataDir)).toBe(true);
  expect(existsSync(poolPaths(dataDir).image)).toBe(false);
  for (const handle of [before, after]) await machine.driver.destroy(handle);
  await machine.driver.release();
  expect([isPoolMounted(dataDir), isInstalled(dataDir)]).toEqual([false, false]);
  expect(await machine.reopen().catch((error: unknown) => error)).toMatchObject({ reason: "no_pool" });
}, 120_000);
