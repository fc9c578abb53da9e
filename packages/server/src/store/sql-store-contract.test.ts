import { expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { SqlStore } from "./sql-store.ts";
import { storeContract } from "./store-contract.ts";

const folder = () => mkdtemp(join(tmpdir(), "boxyard-store-"));

storeContract("SQLite", async () => {
  const dir = await folder();
  return {
    open: (node) => SqlStore.open({ file: join(dir, "boxyard.db") }, node),
    remove: () => rm(dir, { recursive: true }),
  };
});

test("refuses a store that a newer version has written", async () => {
  const dir = await folder();
  const file = join(dir, "boxyard.db");
  await (await SqlStore.open({ file }, "node")).close();
  const sql = new SQL({ adapter: "sqlite", filename: file });
  await sql`INSERT INTO migrations (version, name, applied_at) VALUES (9999, 'later', 0)`;
  await sql.close();
  await expect(SqlStore.open({ file }, "node")).rejects.toMatchObject({ reason: "store_too_new" });
  await rm(dir, { recursive: true });
});
