import { afterEach, beforeEach, expect, test } from "bun:test";
import { SQL } from "bun";
import { Sqlite } from "./sqlite.ts";

let database: Sqlite;
beforeEach(async () => {
  database = new Sqlite(":memory:");
  await database.sql.unsafe("CREATE TABLE t (a TEXT PRIMARY KEY, b INTEGER, c BLOB)");
});
afterEach(() => database.sql.close());
const all = () => database.sql`SELECT a, b FROM t ORDER BY a`;

test("values, rows, lists and changes become what they become with Bun's own SQL", async () => {
  const bun = new SQL({ adapter: "sqlite", filename: ":memory:" });
  await bun.unsafe("CREATE TABLE t (a TEXT PRIMARY KEY, b INTEGER, c BLOB)");
  const results: unknown[][] = [];
  for (const sql of [bun, database.sql]) {
    const rows = [
      { a: "x", b: 1, c: null },
      { a: "y; DROP TABLE t", b: null, c: null },
      { a: "z", b: 2 ** 53 - 1, c: new Uint8Array([1, 0, 2]) },
    ];
    await sql`INSERT INTO t ${sql(rows)}`;
    await sql`INSERT INTO t ${sql({ a: "w", b: undefined })} ON CONFLICT (a) DO NOTHING`;
    const changed = await sql`UPDATE t SET ${sql({ b: 7, c: undefined })} WHERE a IN ${sql(["x", "w", "none"])} RETURNING a, b`;
    results.push([
      [...changed],
      [...(await sql`SELECT * FROM t WHERE b = ${7} OR a = ${"z"} ORDER BY a`)],
      [...(await sql`SELECT * FROM t`)],
    ]);
  }
  expect(results[1]).toEqual(results[0] as unknown[]);
  await bun.close();
});

test("a statement fails by a rejection with SQLite's code, and leaves the others working", async () => {
  await database.sql`INSERT INTO t ${database.sql({ a: "x" })}`;
  await expect(Promise.resolve(database.sql`INSERT INTO t ${database.sql({ a: "x" })}`)).rejects.toMatchObject({
    code: "SQLITE_CONSTRAINT_PRIMARYKEY",
  });
  await expect(Promise.resolve(database.sql`SELECT x FROM nowhere`)).rejects.toThrow("no such table");
  expect((await all()).length).toBe(1);
});

test("more texts than are kept, and a changed table, work with the statements that are kept", async () => {
  const { sql } = database;
  for (let count = 1; count <= 300; count++) await sql`SELECT a FROM t WHERE a IN ${sql(Array.from({ length: count }, String))}`;
  await sql`INSERT INTO t ${sql({ a: "x", b: 1 })}`;
  const before = await sql`SELECT * FROM t`;
  await sql.unsafe("ALTER TABLE t ADD COLUMN d TEXT DEFAULT 'new'");
  expect([before[0], (await sql`SELECT * FROM t`)[0]]).toEqual([
    { a: "x", b: 1, c: null },
    { a: "x", b: 1, c: null, d: "new" },
  ]);
});

test("a transaction that fails changes nothing", async () => {
  const work = database.sql.begin("immediate", async (tx) => {
    await tx`INSERT INTO t ${tx({ a: "x" })}`;
    throw new Error("no");
  });
  await expect(work).rejects.toThrow("no");
  expect((await all()).length).toBe(0);
});

test("a statement runs when its turn has come, and not before", async () => {
  const turns: (() => Promise<unknown>)[] = [];
  const sql = database.through((statement) => {
    turns.push(statement);
    return Promise.resolve("later");
  });
  await sql`INSERT INTO t ${sql({ a: "x" })}`;
  expect((await all()).length).toBe(0);
  await turns[0]?.();
  expect((await all()).length).toBe(1);
});
