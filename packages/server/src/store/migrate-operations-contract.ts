import { expect } from "bun:test";
import type { SandboxId } from "@boxyard/core";
import type { SQL } from "bun";
import { MIGRATIONS } from "./migrations.ts";
import { sampleRecord } from "./sample-record.ts";
import type { Store } from "./store.ts";

const NAME = "creates under an idempotency key are operations";

/** Makes a store of the version before `NAME`, with keys of creates that ran, that failed, and of a fork. `at`: the node that is asked later. */
export async function makeStoreWithKeys(sql: SQL, at: string): Promise<void> {
  await sql.unsafe("CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)");
  const index = MIGRATIONS.findIndex(({ name }) => name === NAME);
  for (const { version, name, statements } of MIGRATIONS.slice(0, index)) {
    for (const statement of statements) await sql.unsafe(statement);
    await sql`INSERT INTO migrations ${sql({ version, name, applied_at: 1 })}`;
  }
  const { facts, settings } = sampleRecord();
  for (const [id, started_at] of [
    ["ran", 20],
    ["failed", null],
    ["forked", 30],
  ] as const) {
    const spec = JSON.stringify({ facts, settings });
    const times = { created_at: 10, started_at, end_at: 99 };
    await sql`INSERT INTO sandboxes ${sql({ id, team_id: "t", template_id: "x", state: "dead", incarnation: 1, node: at, spec, ...times })}`;
    await sql`INSERT INTO idempotency ${sql({ team_id: "t", key: id, fingerprint: "f", sandbox_id: id, created_at: 15 })}`;
  }
  const fork = { id: "forked", team_id: "t", node: at, kind: "fork", step: "makeCopies", input: "{}", output: "[]", created_at: 16 };
  await sql`INSERT INTO operations ${sql({ ...fork, finished_at: 40 })}`;
}

/** Checks that the keys of `makeStoreWithKeys` still lead to what was made. */
export async function expectKeysKept({ operations }: Store): Promise<void> {
  const found = await Promise.all(["ran", "failed", "forked"].map((id) => operations.find(id)));
  const input = { id: "ran" as SandboxId };
  const made = { id: "ran", teamId: "t", kind: "createOnce", step: "make", input, output: input, createdAt: 15, finishedAt: 20 };
  expect(found).toEqual([
    made,
    undefined,
    { ...made, id: "forked", kind: "fork", step: "makeCopies", input: {}, output: [], createdAt: 16, finishedAt: 40 },
  ] as never);
}
