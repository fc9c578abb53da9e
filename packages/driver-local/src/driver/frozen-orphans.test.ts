import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SandboxId, SerialQueues, systemClock } from "@boxyard/core";
import { InstanceCgroups } from "../cgroup/instance.ts";
import { WakeCache } from "../checkpoint-store/wake-cache.ts";
import type { LocalParts } from "../sandbox/parts.ts";
import { LocalSandboxes } from "../sandbox/sandboxes.ts";
import { DataPaths } from "../state/paths.ts";
import { type LocalSandboxRecord, writeRecord } from "../state/record.ts";
import { FrozenOrphans } from "./frozen-orphans.ts";

const ID = "i0123456789abcdefghij" as SandboxId;
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-frozenOrphans-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

test("a sandbox that may be paused, while the pool is not mounted, is reported, and fails neither `reclaim` nor `close`", async () => {
  const paths = new DataPaths(directory);
  const cgroups = new InstanceCgroups({ unified: join(directory, "cgroup"), v1: {} }, "test");
  const wakeCache = new WakeCache({
    limits: { budgetBytes: 1000, lingerMs: 1000, trialsAtOnce: 0 },
    clock: systemClock,
    memory: () => ({ freeBytes: 1, leastFreeBytes: 0 }),
  });
  const reported: object[] = [];
  const onUndoError = (what: string, error: unknown) => reported.push({ what, error });
  // While no pool is mounted, the directory of generations does not exist.
  const storage = { generationsRoot: join(directory, "pool/generations") };
  const turns = new SerialQueues<string>();
  const parts = { paths, cgroups, turns, wakeCache, storage, onUndoError, clock: systemClock } as unknown as LocalParts;
  for (const made of [paths.sandbox(ID), ...cgroups.directoriesOf(ID)]) mkdirSync(made, { recursive: true });
  const record = { version: 1, sandboxId: ID, incarnation: 1, uidBase: 1, resources: {}, network: {}, labels: {}, lease: {} };
  await writeRecord(paths.state(ID), record as unknown as LocalSandboxRecord);

  const frozenOrphans = new FrozenOrphans(parts, new LocalSandboxes(parts));
  wakeCache.add(ID, { incarnation: 1, bytes: 500, processes: [] });
  expect(await wakeCache.reclaim({ memoryBytes: 1, processes: 0 })).toBe(true);
  await frozenOrphans.close();
  const unmounted = { what: "frozen orphan", error: expect.objectContaining({ reason: "pool_not_mounted" }) };
  expect(reported).toEqual([unmounted, unmounted]);
});
