import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TeamId } from "@boxyard/core";
import { SQL } from "bun";
import { expectAdopted, makeEarlierStore } from "./migrate-checkpoints-contract.ts";
import { expectKeysKept, makeStoreWithKeys } from "./migrate-operations-contract.ts";
import { expectTeamHasAll, makeStoreBeforeTeams } from "./migrate-teams-contract.ts";
import { MIGRATIONS } from "./migrations.ts";
import { sampleRecord } from "./sample-record.ts";
import { Sealer } from "./sealer.ts";
import { SqlStore } from "./sql-store.ts";
import { storeContract } from "./store-contract.ts";

const directory = () => mkdtemp(join(tmpdir(), "boxyard-store-"));

const sealer = new Sealer(new Uint8Array(32));

storeContract("SQLite", async () => {
  const dir = await directory();
  return {
    open: (node, clock) => SqlStore.open({ file: join(dir, "boxyard.db") }, node, sealer, clock),
    remove: () => rm(dir, { recursive: true }),
  };
});

test("refuses a store that a newer version has written", async () => {
  const dir = await directory();
  const file = join(dir, "boxyard.db");
  await (await SqlStore.open({ file }, "node")).close();
  const sql = new SQL({ adapter: "sqlite", filename: file });
  await sql`INSERT INTO migrations (version, name, applied_at) VALUES (9999, 'later', 0)`;
  await sql.close();
  await expect(SqlStore.open({ file }, "node")).rejects.toMatchObject({ reason: "store_too_new" });
  await rm(dir, { recursive: true });
});

test("finds the snapshots of a store from before there were checkpoints", async () => {
  const dir = await directory();
  const file = join(dir, "boxyard.db");
  const sql = new SQL({ adapter: "sqlite", filename: file });
  await makeEarlierStore(sql);
  await sql.close();
  for (let opened = 0; opened < 2; opened++) {
    const store = await SqlStore.open({ file }, "node");
    if (opened === 1) await expectAdopted(store);
    await store.close();
  }
  await rm(dir, { recursive: true });
});

test("idempotency keys of a store from before creates were operations lead to their sandboxes", async () => {
  const dir = await directory();
  const file = join(dir, "boxyard.db");
  const sql = new SQL({ adapter: "sqlite", filename: file });
  await makeStoreWithKeys(sql, "node");
  await sql.close();
  const store = await SqlStore.open({ file }, "node");
  await expectKeysKept(store);
  await store.close();
  await rm(dir, { recursive: true });
});

test("everything of a store from before there were teams is the first team's", async () => {
  const dir = await directory();
  const file = join(dir, "boxyard.db");
  const sql = new SQL({ adapter: "sqlite", filename: file });
  await makeStoreBeforeTeams(sql, "node");
  await sql.close();
  const store = await SqlStore.open({ file }, "node");
  await expectTeamHasAll(store);
  await store.close();
  await rm(dir, { recursive: true });
});

test("names the fault of a store that cannot be opened", async () => {
  const dir = await directory();
  const garbage = join(dir, "garbage.db");
  await Bun.write(garbage, "this is no database, ".repeat(100));
  await expect(SqlStore.open({ file: garbage }, "node")).rejects.toMatchObject({
    code: "data_loss",
    reason: "store_broken",
    message: expect.stringContaining(`The store ${garbage} is damaged`),
  });
  expect(await Bun.file(garbage).text()).toStartWith("this is no database");
  for (const file of [dir, join(dir, "missing", "x.db")]) {
    await expect(SqlStore.open({ file }, "node")).rejects.toMatchObject({
      code: "unavailable",
      reason: "store_denied",
      message: expect.stringContaining(`The store ${file} can't be opened`),
    });
  }
  await rm(dir, { recursive: true });
});

test("a store that is opened exclusively maps no file that another process could truncate", async () => {
  const dir = await directory();
  const file = join(dir, "boxyard.db");
  const store = await SqlStore.open({ file, exclusive: true }, "node");
  await store.ensureTeam("a", "A");
  expect(existsSync(`${file}-wal`)).toBe(true);
  expect(readdirSync(dir)).not.toContain("boxyard.db-shm");
  const other = new SQL({ adapter: "sqlite", filename: file });
  await expect((async () => other`SELECT * FROM teams`)()).rejects.toThrow("locked");
  await other.close();
  await store.close();
  // After the close it can be opened in either way again.
  const again = await SqlStore.open({ file }, "node");
  await again.close();
  await rm(dir, { recursive: true });
});

test("keeps young events before one that was stamped while the clock was behind, up to the limit of their number", async () => {
  const dir = await directory();
  const file = join(dir, "boxyard.db");
  const store = await SqlStore.open({ file }, "node");
  for (let n = 0; n < 4; n++) await store.insertSandbox(sampleRecord());
  await store.close();
  const sql = new SQL({ adapter: "sqlite", filename: file });
  await sql`UPDATE events SET at = CASE WHEN cursor IN (1, 3) THEN 1000 ELSE 5000 END`;
  await sql.close();
  const again = await SqlStore.open({ file }, "node");
  const cursors = async () => (await again.events.read(0, 10)).map(({ cursor }) => cursor);
  await again.events.prune(2000, 100);
  expect(await cursors()).toEqual([2, 3, 4]);
  await again.events.prune(2000, 2);
  expect(await cursors()).toEqual([4]);
  await again.close();
  await rm(dir, { recursive: true });
});

const SCOPES_OF_KEYS = "scopes of keys, access tokens, limits of teams";

test("keys of a store of the time before scopes may do everything, and all that there was keeps its team", async () => {
  const dir = await directory();
  const file = join(dir, "boxyard.db");
  const sql = new SQL({ adapter: "sqlite", filename: file });
  await sql.unsafe("CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)");
  for (const { version, name, statements } of MIGRATIONS.slice(
    0,
    MIGRATIONS.findIndex(({ name }) => name === SCOPES_OF_KEYS),
  )) {
    for (const statement of statements) await sql.unsafe(statement);
    await sql`INSERT INTO migrations ${sql({ version, name, applied_at: 1 })}`;
  }
  await sql`INSERT INTO teams (id, slug, name, created_at) VALUES ('t1', 'default', 'Default', 1)`;
  await sql`INSERT INTO api_keys (id, team_id, name, hash, hint, created_at) VALUES ('k1', 't1', 'first', 'h1', 'e2b_12', 5)`;
  await sql`INSERT INTO volumes (id, team_id, node, name, state, size_bytes, created_at) VALUES ('v1', 't1', 'node', 'data', 'ready', 1, 1)`;
  await sql.close();
  const store = await SqlStore.open({ file }, "node");
  const key = { id: "k1", teamId: "t1", name: "first", kind: "key", hash: "h1", hint: "e2b_12", createdAt: 5 };
  expect(await store.keys.list()).toEqual([{ ...key, scopes: ["read", "sandboxes", "templates", "admin"] } as never]);
  expect(await store.teams.list()).toEqual([
    { id: "t1" as TeamId, slug: "default", name: "Default", createdAt: 1, limits: {}, retention: {} },
  ]);
  expect(await store.teams.holdings("t1" as TeamId)).toEqual({ sandboxes: 0, templates: 0, volumes: 1 });
  await store.close();
  await rm(dir, { recursive: true });
});
