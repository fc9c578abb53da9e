import { afterAll, beforeAll, expect, test } from "bun:test";
import { AppError, type Clock, systemClock } from "@boxyard/core";
import { eventually, startPostgres, type TestPostgres } from "@boxyard/testkit";
import { SQL } from "bun";
import { expectAdopted, makeEarlierStore } from "./migrate-checkpoints-contract.ts";
import { expectKeysKept, makeStoreWithKeys } from "./migrate-operations-contract.ts";
import { expectTeamHasAll, makeStoreBeforeTeams } from "./migrate-teams-contract.ts";
import { Sealer } from "./sealer.ts";
import { PostgresSession } from "./session.ts";
import { SqlStore } from "./sql-store.ts";
import { storeContract } from "./store-contract.ts";
import { StoreHealth } from "./store-health.ts";

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
}, 60_000);
afterAll(() => postgres?.[Symbol.asyncDispose]());

let empty: string | undefined;

/** A database with the newest schema and no rows: the schema is made once, and copied for each test. */
async function emptyStore(): Promise<string> {
  if (empty === undefined) {
    const url = await postgres.database();
    await (await SqlStore.open({ url }, "")).close();
    empty = url;
  }
  return postgres.database(empty);
}

storeContract("PostgreSQL", async () => {
  const url = await emptyStore();
  const sealer = new Sealer(new Uint8Array(32));
  return { open: (node, clock) => SqlStore.open({ url }, node, sealer, clock), remove: () => postgres.remove(url) };
});

test("finds the snapshots of a database from before there were checkpoints", async () => {
  const url = await postgres.database();
  const sql = new SQL(url);
  await makeEarlierStore(sql);
  await sql.close();
  const store = await SqlStore.open({ url }, "here");
  await expectAdopted(store);
  await store.close();
});

test("idempotency keys of a database from before creates were operations lead to their sandboxes", async () => {
  const url = await postgres.database();
  const sql = new SQL(url);
  await makeStoreWithKeys(sql, "here");
  await sql.close();
  const store = await SqlStore.open({ url }, "here");
  await expectKeysKept(store);
  await store.close();
});

test("everything of a database from before there were teams is the first team's", async () => {
  const url = await postgres.database();
  const sql = new SQL(url);
  await makeStoreBeforeTeams(sql, "here");
  await sql.close();
  const store = await SqlStore.open({ url }, "here");
  await expectTeamHasAll(store);
  await store.close();
});

test("is migrated by one of several servers that open it at once", async () => {
  const url = await postgres.database();
  const stores = await Promise.all(Array.from({ length: 4 }, () => SqlStore.open({ url }, "here")));
  expect(await stores[3]?.keys.list()).toEqual([]);
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
  await eventually("the store works again", () => store.keys.list().then((keys) => keys.length === 0));
  await lock.release();
  await store.close();
}, 30_000);

test("wakes readers of events after a commit that ends after the limit, and is healthy again", async () => {
  const url = await postgres.database();
  await (await SqlStore.open({ url }, "here")).close();
  const holder = new SQL(url, { max: 1 });
  // Each commit of an event waits for a lock that `holder` holds.
  await holder.unsafe(`
    CREATE FUNCTION wait_for_lock() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER late AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_for_lock();
    SELECT pg_advisory_lock(1);`);
  const health = new StoreHealth(systemClock);
  const session = new PostgresSession(new SQL(url), health, systemClock, 200);
  let woken = 0;
  session.committed.subscribe(() => woken++);
  const writing = session.transaction(async (tx) => tx.record({ action: "key.created", targetId: "k" }));
  await expect(writing).rejects.toMatchObject({ code: "unavailable", reason: "store_unavailable" });
  expect([woken, health.trouble?.reason]).toEqual([0, "store_unavailable"]);
  await holder.unsafe("SELECT pg_advisory_unlock(1)");
  await eventually("the reader is woken", () => woken === 1);
  expect(health.trouble).toBeUndefined();
  expect((await session.sql`SELECT target_id FROM events`)[0]?.target_id).toBe("k");
  await Promise.all([session.close(), holder.close()]);
});

test.each([
  ["postgres://boxyard@127.0.0.1:1/none", "store_unavailable"],
  ["postgres://stranger@/postgres", "store_denied"],
  ["postgres://boxyard@/no_such_database", "store_denied"],
])("opening %s fails with the reason %s", async (template, reason) => {
  const { host } = new URL(await postgres.database());
  const url = template.replace("@/", `@${host}/`);
  await expect(SqlStore.open({ url }, "here")).rejects.toMatchObject({ code: "unavailable", reason });
});
