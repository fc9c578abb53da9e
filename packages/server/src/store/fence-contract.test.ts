import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { systemClock } from "@boxyard/core";
import { eventually, startPostgres, type TestPostgres } from "@boxyard/testkit";
import { SQL } from "bun";
import { LeaseRows } from "./lease-rows.ts";
import { checkFenced, connectionsTo, prepareForReplicas } from "./replica-store.ts";
import { SqlStore } from "./sql-store.ts";
import { storeFault } from "./store-fault.ts";

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
}, 60_000);
afterAll(() => postgres?.[Symbol.asyncDispose]());

let url: string;
beforeEach(async () => {
  url = await postgres.database();
  await (await SqlStore.open({ url }, "node")).close();
  await prepareForReplicas(url);
}, 30_000);

const leaseOf = (holder: string, leaseMs = 60_000) => new LeaseRows({ url, holder, leaseMs, clock: systemClock });
/** A lease that has expired when it is taken. */
const SPENT = 0;

const addMeta = (sql: SQL, name: string) => sql`INSERT INTO meta (name, value) VALUES (${name}, 'x')`;
const refusal = (work: PromiseLike<unknown>) =>
  Promise.resolve(work).then(
    () => undefined,
    (error: unknown) => storeFault(error)?.reason,
  );

test("one of many that want the lease gets it, and nobody else before it expires", async () => {
  const leases = Array.from({ length: 5 }, (_, at) => leaseOf(`r${at}`));
  const epochs = await Promise.all(leases.map((lease) => lease.take()));
  expect(epochs.filter((epoch) => epoch !== undefined)).toEqual([1]);
  const winner = leases[epochs.indexOf(1)] as LeaseRows;
  expect(await winner.renew(1, "here:1")).toBe(true);
  const other = leases.find((lease) => lease !== winner) as LeaseRows;
  expect(await other.renew(1, "there:1")).toBe(false);
  expect(await other.look("there:1")).toEqual({ epoch: 1, address: "here:1", isLive: true });
  await winner.release(1);
  expect(await other.take()).toBe(2);
  expect(await winner.renew(1, "here:1")).toBe(false);
  for (const lease of leases) await lease.close();
});

test("a transaction that was open while the owner changed cannot be committed, nor can later ones; those of the new owner can", async () => {
  const lease = leaseOf("first", SPENT);
  const next = leaseOf("next", SPENT);
  await using former = connectionsTo({ url, epoch: (await lease.take()) as number });
  await addMeta(former, "while it owned");
  const open = former.begin(async (tx) => {
    await addMeta(tx, "late");
    expect(await next.take()).toBe(2);
  });
  expect(await refusal(open)).toBe("not_owner");
  expect(await refusal(addMeta(former, "later"))).toBe("not_owner");
  expect(await refusal(former`DELETE FROM meta WHERE name = 'while it owned'`)).toBe("not_owner");
  await using owner = connectionsTo({ url, epoch: 2 });
  await owner.begin(async (tx) => {
    await addMeta(tx, "by the next");
    await tx`UPDATE meta SET value = 'y' WHERE name = 'while it owned'`;
  });
  const rows = (await owner`SELECT name FROM meta WHERE value IN ('x', 'y') ORDER BY name`) as { name: string }[];
  expect(rows.map(({ name }) => name)).toEqual(["by the next", "while it owned"]);
  for (const each of [lease, next]) await each.close();
});

test("a transaction whose writes were undone to a savepoint is compared anew", async () => {
  const lease = leaseOf("first", SPENT);
  await using former = connectionsTo({ url, epoch: (await lease.take()) as number });
  const open = former.begin(async (tx) => {
    await tx`SAVEPOINT here`;
    await addMeta(tx, "undone");
    await tx`ROLLBACK TO SAVEPOINT here`;
    await addMeta(tx, "kept");
    await lease.take();
  });
  expect(await refusal(open)).toBe("not_owner");
  await lease.close();
});

test("the fence is on every table that an owner writes, and is made anew when its text is another or a trigger is missing", async () => {
  await using sql = new SQL(url);
  const tables = async () => {
    const rows = (await sql`SELECT relname FROM pg_trigger, pg_class WHERE tgrelid = pg_class.oid AND tgname = 'boxyard_fence'`) as {
      relname: string;
    }[];
    return rows.map(({ relname }) => relname).sort();
  };
  const all = await tables();
  const rows = (await sql`SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`) as { tablename: string }[];
  const others = rows.map(({ tablename }) => tablename).filter((name) => !all.includes(name));
  expect(others.sort()).toEqual(["migrations", "replica_lease", "replicas"]);

  await sql`DROP TRIGGER boxyard_fence ON sandboxes`;
  await prepareForReplicas(url);
  expect(await tables()).toEqual(all);

  // As an earlier version may have left it, with a text that lets everything pass.
  await sql.unsafe("CREATE OR REPLACE FUNCTION boxyard_fence_due() RETURNS boolean LANGUAGE sql AS 'SELECT false'");
  await sql`UPDATE meta SET value = 'of an earlier version' WHERE name = 'fence'`;
  await prepareForReplicas(url);
  await using former = connectionsTo({ url, epoch: 7 });
  expect(await refusal(addMeta(former, "x"))).toBe("not_owner");
});

test("connections that have lost their epoch, as behind a pooler, are not used", async () => {
  await using fenced = connectionsTo({ url, epoch: 1 });
  await checkFenced(fenced, 1);
  await using bare = connectionsTo({ url });
  await expect(checkFenced(bare, 1)).rejects.toMatchObject({ reason: "not_fenced" });
});

test("replicas are counted while they look, and while the database is away the number stays", async () => {
  const lease = leaseOf("one");
  const other = leaseOf("other");
  expect(await lease.countReplicas()).toBe(1);
  await other.look("there:1");
  expect(await Promise.all([lease.countReplicas(), lease.countReplicas()])).toEqual([2, 2]);
  await postgres.crash();
  try {
    expect(await lease.countReplicas()).toBe(2);
  } finally {
    await postgres.start();
  }
  for (const each of [lease, other]) await each.close();
});

test("a server without replicas and replicas keep each other out", async () => {
  const lease = leaseOf("replica");
  const store = await SqlStore.open({ url }, "node");
  const lock = await store.lock("alone", systemClock);
  expect(await lease.take()).toBeUndefined();
  await lock.release();
  await eventually("the database has seen the end of the lock", () => lease.take());
  await expect(store.lock("alone", systemClock)).rejects.toMatchObject({ reason: "store_in_use" });
  await store.close();
  await lease.close();
});
