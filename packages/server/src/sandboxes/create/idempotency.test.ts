import { expect, test } from "bun:test";
import { FakeClock, type SandboxId, type TeamId } from "@boxyard/core";
import { SqlStore } from "../../store/index.ts";
import { sampleRecord } from "../../store/sample-record.ts";
import { Idempotency, KEEP_KEYS_MS } from "./idempotency.ts";

const TEAM = "one" as TeamId;
const REQUEST = { version: "v2", body: { templateID: "base" } };

async function subject() {
  const store = await SqlStore.open({ file: ":memory:" }, "node");
  const clock = new FakeClock();
  const made: SandboxId[] = [];
  const make = async (id: SandboxId) => {
    made.push(id);
    const record = sampleRecord({ id, state: "running", startedAt: clock.now() });
    await store.insertSandbox(record);
    return record;
  };
  return { store, clock, made, make, keys: new Idempotency(store, clock) };
}

test("a key is a team's own: another team's sandbox is not given away, and its request is no mismatch", async () => {
  const { keys, made, make, store } = await subject();
  const first = await keys.run(TEAM, "k", REQUEST, make);
  const other = await keys.run("two" as TeamId, "k", { ...REQUEST, version: "v1" }, make);
  expect(other.id).not.toBe(first.id);
  expect(made).toEqual([first.id, other.id]);
  await store.close();
});

test("a key is kept for 24 hours, and is as good as new after that", async () => {
  const { keys, clock, made, make, store } = await subject();
  const first = await keys.run(TEAM, "k", REQUEST, make);
  clock.advance(KEEP_KEYS_MS - 1);
  expect((await keys.run(TEAM, "k", REQUEST, make)).id).toBe(first.id);
  clock.advance(1);
  const later = await keys.run(TEAM, "k", { ...REQUEST, body: {} }, make);
  expect(made).toEqual([first.id, later.id]);
  await store.close();
});

test("creates without a key are never taken for one another", async () => {
  const { keys, made, make, store } = await subject();
  await Promise.all([keys.run(TEAM, undefined, REQUEST, make), keys.run(TEAM, undefined, REQUEST, make)]);
  expect(new Set(made).size).toBe(2);
  await store.close();
});
