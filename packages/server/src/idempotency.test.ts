import { expect, test } from "bun:test";
import { FakeClock, type SandboxId, type TeamId } from "@boxyard/core";
import { Idempotency, KEEP_KEYS_MS } from "./idempotency.ts";
import { SqlStore } from "./store/index.ts";
import { sampleRecord } from "./store/sample-record.ts";

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
  const recall = async (id: SandboxId) => (await store.getSandbox(id)) ?? undefined;
  const keys = new Idempotency(store, clock);
  const run = (key: string | undefined, { teamId = TEAM, request = REQUEST as object } = {}) =>
    keys.run({ teamId, key, request, make, recall });
  return { store, clock, made, run };
}

test("a key belongs to its team: the same key of another team gives another sandbox, and is no mismatch", async () => {
  const { run, made, store } = await subject();
  const first = await run("k");
  const other = await run("k", { teamId: "two" as TeamId, request: { ...REQUEST, version: "v1" } });
  expect(other.id).not.toBe(first.id);
  expect(made).toEqual([first.id, other.id]);
  await store.close();
});

test("a key is kept for 24 hours, and can be used for another request after that", async () => {
  const { run, clock, made, store } = await subject();
  const first = await run("k");
  clock.advance(KEEP_KEYS_MS - 1);
  expect((await run("k")).id).toBe(first.id);
  clock.advance(1);
  const later = await run("k", { request: { ...REQUEST, body: {} } });
  expect(made).toEqual([first.id, later.id]);
  await store.close();
});

test("creates without a key give a new sandbox each", async () => {
  const { run, made, store } = await subject();
  await Promise.all([run(undefined), run(undefined)]);
  expect(new Set(made).size).toBe(2);
  await store.close();
});
