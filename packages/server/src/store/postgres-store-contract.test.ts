import { afterAll, beforeAll, expect, test } from "bun:test";
import { AppError, type Clock, systemClock } from "@boxyard/core";
import { eventually, startPostgres, type TestPostgres } from "@boxyard/testkit";
import { Sealer } from "./sealer.ts";
import { SqlStore } from "./sql-store.ts";
import { storeContract } from "./store-contract.ts";

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
}, 60_000);
afterAll(() => postgres?.[Symbol.asyncDispose]());

storeContract("PostgreSQL", async () => {
  const url = await postgres.database();
  return { open: (node, clock) => SqlStore.open({ url }, node, new Sealer(new Uint8Array(32)), clock), remove: async () => {} };
});

test("is migrated by one of several servers that open it at once", async () => {
  const url = await postgres.database();
  const stores = await Promise.all(Array.from({ length: 4 }, () => SqlStore.open({ url }, "here")));
  expect(await stores[3]?.listKeys()).toEqual([]);
  await Promise.all(stores.map((store) => store.close()));
});

/** Ten times as quick as the real one. */
const quick: Clock = {
  now: () => systemClock.now(),
  monotonic: () => systemClock.monotonic() * 10,
  sleep: (ms, signal) => systemClock.sleep(ms / 10, signal),
};

test("one server at a time works on a database; the error for a second names the first, and the second may start when the first has ended", async () => {
  const url = await postgres.database();
  const [one, two] = [await SqlStore.open({ url }, "one"), await SqlStore.open({ url }, "two")];
  const lock = await one.lock("machine a, /data, process 1", quick);
  await expect(two.lock("machine b", quick)).rejects.toMatchObject({
    reason: "store_in_use",
    message: expect.stringContaining("machine a, /data, process 1"),
  });
  const waiting = two.lock("machine b", systemClock);
  await lock.release();
  await (await waiting).release();
  await Promise.all([one.close(), two.close()]);
});

test("a server hears that another server has taken the database over while the database was away", async () => {
  const url = await postgres.database();
  const store = await SqlStore.open({ url }, "here");
  const slow = await store.lock("slow", systemClock);
  await postgres.crash();
  await postgres.start();
  const other = await store.lock("quick", quick);
  await expect(slow.lost).rejects.toMatchObject({ reason: "store_in_use", message: expect.stringContaining("quick") });
  await Promise.all([slow.release(), other.release()]);
  await store.close();
}, 30_000);

test("goes on after the database was away, and refuses calls meanwhile with the reason", async () => {
  const store = await SqlStore.open({ url: await postgres.database() }, "here");
  const lock = await store.lock("me", systemClock);
  await store.ensureTeam("default", "Default");
  await postgres.crash();
  const refused = await store.teamSlug("x" as never).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(AppError);
  expect(refused).toMatchObject({ code: "unavailable", reason: "store_unavailable" });
  await postgres.start();
  await eventually("the store works again", () => store.listKeys().then((keys) => keys.length === 0));
  await lock.release();
  await store.close();
}, 30_000);

test.each([
  ["postgres://boxyard@127.0.0.1:1/none", "store_unavailable"],
  ["postgres://stranger@/postgres", "store_denied"],
  ["postgres://boxyard@/no_such_database", "store_denied"],
])("opening %s fails with the reason %s", async (template, reason) => {
  const { host } = new URL(await postgres.database());
  const url = template.replace("@/", `@${host}/`);
  await expect(SqlStore.open({ url }, "here")).rejects.toMatchObject({ code: "unavailable", reason });
});
