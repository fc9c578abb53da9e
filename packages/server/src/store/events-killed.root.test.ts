import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSandboxId, type SandboxId } from "@boxyard/core";
import { eventually, startPostgres, type TestPostgres } from "@boxyard/testkit";
import { SQL } from "bun";
import { sampleRecord } from "./sample-record.ts";
import { SqlStore } from "./sql-store.ts";
import type { StorePlace } from "./store-place.ts";

/** A store with its schema, so that the writes that are counted are those of the changes. */
interface Database {
  readonly place: StorePlace;
  /** The system call that writes: to the file, or to the database's socket. */
  readonly call: string;
  /** Resolves when the database does nothing more for a process that was killed. */
  settled(): Promise<void>;
  remove(): Promise<void>;
}

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
}, 60_000);
afterAll(() => postgres?.[Symbol.asyncDispose]());

async function inFile(): Promise<Database> {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-events-killed-"));
  const place = { file: join(directory, "boxyard.db"), exclusive: true };
  return { place, call: "pwrite64", settled: async () => {}, remove: async () => rmSync(directory, { recursive: true }) };
}

async function inPostgres(): Promise<Database> {
  const url = await postgres.database();
  const settled = async () => {
    await using sql = new SQL(url, { max: 1 });
    const others = () => sql`SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
    await eventually("the connections of the killed process have ended", async () => (await others()).length === 0);
  };
  return { place: { url }, call: "sendto", settled, remove: async () => {} };
}

const IDS = Array.from({ length: 6 }, () => newSandboxId());
const record = sampleRecord({ state: "running" });

/** Runs a process that makes changes one after another and tells each that was made, and that is killed at a write to the store's files. */
async function killedAtWrite({ place, call }: Database, number: number): Promise<{ readonly told: string[]; readonly wasKilled: boolean }> {
  const script = `
    const { SqlStore } = await import(${JSON.stringify(join(import.meta.dir, "sql-store.ts"))});
    const { writeSync } = await import("node:fs");
    const store = await SqlStore.open(${JSON.stringify(place)}, "node");
    const record = ${JSON.stringify(record)};
    for (const id of ${JSON.stringify(IDS)}) {
      await store.insertSandbox({ ...record, id });
      writeSync(1, "made " + id + "\\n");
      await store.updateSandbox(id, ["running"], { state: "killing" });
      writeSync(1, "killing " + id + "\\n");
    }
    await store.close();`;
  const inject = ["-e", `trace=${call}`, "-e", `inject=${call}:signal=SIGKILL:when=${number}`];
  const child = Bun.spawn(["strace", "-f", "-qq", "-o", "/dev/null", ...inject, process.execPath, "-e", script], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const told = (await new Response(child.stdout).text()).split("\n").filter((line) => line !== "");
  await child.exited;
  return { told, wasKilled: told.length < 2 * IDS.length };
}

/** What is in the store, as the process tells it: by the sandboxes, and by the events. */
async function read(store: SqlStore): Promise<{ readonly byState: string[]; readonly byEvent: string[]; readonly cursors: number[] }> {
  const states = await Promise.all(IDS.map(async (id) => (await store.getSandbox(id as SandboxId))?.state));
  const byState = IDS.flatMap((id, i) =>
    states[i] === undefined ? [] : states[i] === "running" ? [`made ${id}`] : [`made ${id}`, `killing ${id}`],
  );
  const events = await store.events.read(0, 1000);
  const byEvent = events.map(({ action, targetId }) => `${action === "sandbox.running" ? "made" : "killing"} ${targetId}`);
  return { byState, byEvent, cursors: events.map(({ cursor }) => cursor) };
}

describe.each([
  ["SQLite", inFile],
  ["PostgreSQL", inPostgres],
] as const)("on %s", (_, make) => {
  test.each([1, 2, 3, 5, 8, 12, 17, 25])(
    "a server that is killed at its write %d has each change with its event, or neither, and all that it has told",
    async (number) => {
      const database = await make();
      await (await SqlStore.open(database.place, "node")).close();
      const { told, wasKilled } = await killedAtWrite(database, number);
      expect(wasKilled).toBe(true);
      await database.settled();
      const store = await SqlStore.open(database.place, "node");
      const { byState, byEvent, cursors } = await read(store);
      expect(byEvent).toEqual(byState);
      expect(byEvent.slice(0, told.length)).toEqual(told);
      expect(cursors).toEqual(cursors.map((_, i) => i + 1));
      // The next one goes on where it stopped.
      const next = newSandboxId();
      await store.insertSandbox({ ...record, id: next });
      expect((await store.events.read(cursors.length, 10)).map(({ cursor, targetId }) => [cursor, targetId])).toEqual([
        [cursors.length + 1, next],
      ]);
      await store.close();
      await database.remove();
    },
    60_000,
  );
});
