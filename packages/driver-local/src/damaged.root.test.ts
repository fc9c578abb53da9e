import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import type { SandboxHandle } from "@boxyard/driver";
import { takeSnapshot } from "@boxyard/testkit";
import { DataPaths } from "./state/paths.ts";
import { copyOf, readRecord } from "./state/record.ts";
import { useTestMachine } from "./testing/use-test-machine.ts";

const machine = useTestMachine();

const stateOf = ({ sandboxId }: SandboxHandle) => new DataPaths(machine.dataDir).state(sandboxId);

test("a sandbox whose record and copy are damaged is not taken for a lost one, keeps its user ids and address, and can be removed", async () => {
  const [bad, other] = [await machine.boot(), await machine.boot()];
  const before = readRecord(stateOf(bad));
  const whole = readFileSync(stateOf(bad));
  for (const file of [stateOf(bad), copyOf(stateOf(bad))]) writeFileSync(file, whole.subarray(0, 50));
  await machine.close();
  await machine.reopen();
  const { driver } = machine;
  expect((await driver.list()).map(({ sandboxId }) => sandboxId).sort()).toEqual([bad.sandboxId, other.sandboxId].sort());
  expect((await driver.inspect(other)).phase).toBe("running");
  for (const incarnation of [1, 2]) {
    expect(await driver.recover({ ...bad, incarnation }).catch((error: unknown) => error)).toMatchObject({
      code: "data_loss",
      reason: "state_damaged",
    });
  }
  const made = [await machine.boot(), await machine.boot(), await machine.boot()].map((handle) => readRecord(stateOf(handle)));
  expect(made.map((record) => record?.uidBase)).not.toContain(before?.uidBase);
  expect(made.map((record) => record?.lease.address)).not.toContain(before?.lease.address);

  await driver.freeze(bad);
  writeFileSync(stateOf(bad), whole);
  expect(await driver.inspect(bad)).toMatchObject({ phase: "running", frozen: true });
  await driver.recover(bad);
  await driver.thaw(bad);
  await driver.setNetwork(bad, { internetAccess: true });

  for (const file of [stateOf(bad), copyOf(stateOf(bad))]) writeFileSync(file, "");
  await driver.freeze(bad);
  for (const handle of await driver.list()) await driver.destroy(handle);
  expect(await driver.list()).toEqual([]);
  // Its user ids are released too.
  const { instance } = JSON.parse(readFileSync(`${machine.dataDir}/instance.json`, "utf8")) as { instance: string };
  expect(takeSnapshot().userIds.filter((line) => line.endsWith(instance))).toEqual([]);
}, 60_000);
