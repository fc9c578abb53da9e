import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSandboxId } from "@boxyard/core";
import { FakeDriver, FakeWorld } from "@boxyard/driver/fake";
import { readConfig } from "../config.ts";
import type { Machine } from "../machine.ts";
import { nodeIdOf } from "../node-id.ts";
import { orphanCheck } from "../overview/orphan-check.ts";
import { openSealer, SqlStore } from "../store/index.ts";
import { sampleRecord } from "../store/sample-record.ts";
import { release } from "./release.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-release-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

test("ends every sandbox, writes that to the store, and empties the quarantine", async () => {
  const world = new FakeWorld();
  const record = sampleRecord({ state: "running" });
  const file = join(directory, "boxyard.db");
  const store = await SqlStore.open({ file }, nodeIdOf(directory), openSealer(directory));
  await store.insertSandbox(record);
  await store.close();
  const opened: unknown[] = [];
  const openDriver = async (_logger: unknown, options: unknown) => {
    opened.push(options);
    return new FakeDriver(world);
  };
  const machine = { openDriver } as unknown as Machine;
  writeFileSync(join(directory, "orphans.json"), JSON.stringify({ version: 1, orphans: { [record.id]: { since: 1, cause: "damaged" } } }));
  const config = readConfig({ BOXYARD_DATA: directory, BOXYARD_LOG_LEVEL: "silent" });
  expect(orphanCheck(config, 1).status).toBe("warn");
  expect(await release(config, machine, ["--sandboxes"])).toBe(0);
  expect(opened).toEqual([{ ending: true }]);
  expect(orphanCheck(config, 1).status).toBe("ok");
  const after = await SqlStore.open({ file }, nodeIdOf(directory), openSealer(directory));
  expect(await after.getSandbox(record.id)).toMatchObject({ state: "dead", reason: "released" });
  await after.close();
});

test("moves each sandbox through `killing`; if its removal fails, it stays in `killing` for the next server", async () => {
  const world = new FakeWorld();
  const [gone, stays] = [sampleRecord({ state: "running" }), sampleRecord({ state: "paused" })];
  const file = join(directory, "boxyard.db");
  const open = () => SqlStore.open({ file }, nodeIdOf(directory), openSealer(directory));
  const store = await open();
  for (const record of [gone, stays]) await store.insertSandbox(record);
  await store.close();
  world.make(sampleSpec(stays.id), "fake");
  world.faults.add("destroy", { kind: "fail" });
  const machine = { openDriver: async () => new FakeDriver(world) } as unknown as Machine;
  const released = release(readConfig({ BOXYARD_DATA: directory, BOXYARD_LOG_LEVEL: "silent" }), machine, ["--sandboxes"]);
  expect(await released.catch((error: Error) => error.message)).toBe(`sandbox ${stays.id} could not be removed`);
  const after = await open();
  expect((await after.getSandbox(stays.id))?.state).toBe("killing");
  const moves = (await after.events.read(0, 100))
    .filter(({ targetId }) => targetId === gone.id)
    .map(({ action, before }) => [action, before?.state]);
  expect(moves).toEqual([
    ["sandbox.running", undefined],
    ["sandbox.killing", "running"],
    ["sandbox.dead", "killing"],
  ]);
  await after.close();
});

test("ends every sandbox even if the store is damaged, and prints the store's fault", async () => {
  const world = new FakeWorld();
  const sandboxId = newSandboxId();
  world.make({ ...sampleSpec(sandboxId) }, "fake");
  writeFileSync(join(directory, "boxyard.db"), "no database ".repeat(500));
  const said = spyOn(console, "error").mockImplementation(() => {});
  try {
    const machine = { openDriver: async () => new FakeDriver(world) } as unknown as Machine;
    expect(await release(readConfig({ BOXYARD_DATA: directory, BOXYARD_LOG_LEVEL: "silent" }), machine, ["--sandboxes"])).toBe(0);
    expect(said.mock.calls.flat().join("")).toContain("boxyard.db is damaged");
  } finally {
    said.mockRestore();
  }
  expect(world.sandboxes.size).toBe(0);
});

const sampleSpec = (sandboxId: ReturnType<typeof newSandboxId>) => ({ sandboxId, incarnation: 1 }) as Parameters<FakeWorld["make"]>[0];
