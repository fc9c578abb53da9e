import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TeamId } from "@boxyard/core";
import { startPostgres, type TestPostgres } from "@boxyard/testkit";
import { ROTATION_POINTS, rotateStoreKey, settledSealer } from "./rotate-key.ts";
import { sampleRecord } from "./sample-record.ts";
import { SqlStore } from "./sql-store.ts";
import type { StorePlace } from "./store-place.ts";

let teamId: TeamId;
const NODE = "here";
let postgres: TestPostgres;
let directory: string;
beforeAll(async () => {
  postgres = await startPostgres();
}, 60_000);
afterAll(() => postgres?.[Symbol.asyncDispose]());
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-rotate-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const keyFile = () => readFileSync(join(directory, "store-key"), "utf8");
const open = async (place: StorePlace) => SqlStore.open(place, NODE, await settledSealer(directory, place, NODE));

/** Writes one of each that is sealed, and returns what reads all of it back. */
async function plant(place: StorePlace): Promise<(store: SqlStore) => Promise<unknown[]>> {
  const store = await open(place);
  teamId = await store.ensureTeam("default", "Default");
  const { facts, ...rest } = sampleRecord({ state: "running" });
  const rules = { "api.example": [{ transform: { headers: { A: "rule-in-plain-words" } } }] } as never;
  const settings = { ...rest.settings, rules };
  const record = { ...rest, settings, facts: { ...facts, envVars: { A: "variable-in-plain-words" } } };
  await store.insertSandbox(record);
  await store.secrets.add({ id: "sec_1", teamId, name: "one", value: "value-in-plain-words", metadata: {}, createdAt: 1 }, 9);
  const webhook = { id: "w1", teamId, name: "w", url: "https://hooks.example/", events: ["*"], enabled: false, createdAt: 1 };
  await store.webhooks.add({ ...webhook, secret: "hook-in-plain-words" }, 9);
  await store.getOrCreateMeta("token-seed", () => "seed-in-plain-words");
  const sealedEnv = store.seal('{"B":"env-in-plain-words"}', "snapshots/s1");
  const spec = { image: { digest: "d", layers: [] }, cpuCount: 1, memoryMB: 1, diskMB: 1, env: {}, user: "u", workdir: "/" };
  const snapshot = { id: "s1", memory: false, sandboxId: record.id, sealedEnv };
  await store.templates.put(teamId, "snap", "default", { ...spec, snapshot } as never, 1);
  await store.close();
  return async (reader) => {
    const specs = (await reader.templates.listSpecs()) as { snapshot?: { sealedEnv: string } }[];
    const sealed = specs.find((one) => one.snapshot)?.snapshot?.sealedEnv ?? "";
    return [
      (await reader.getSandbox(record.id))?.facts.envVars,
      (await reader.getSandbox(record.id))?.settings.rules,
      await reader.secrets.value(teamId, "one"),
      await reader.webhooks.secretOf("w1"),
      await reader.getOrCreateMeta("token-seed", () => "another"),
      reader.unseal(sealed, "snapshots/s1"),
    ];
  };
}
const ALL = [
  { A: "variable-in-plain-words" },
  { "api.example": [{ transform: { headers: { A: "rule-in-plain-words" } } }] },
  "value-in-plain-words",
  "hook-in-plain-words",
  "seed-in-plain-words",
  '{"B":"env-in-plain-words"}',
];

/** Runs a rotation in a process that kills itself at a point. */
async function killedAt(place: StorePlace, point: string): Promise<void> {
  const script = `
    const { rotateStoreKey } = await import(${JSON.stringify(join(import.meta.dir, "rotate-key.ts"))});
    await rotateStoreKey(${JSON.stringify(directory)}, ${JSON.stringify(place)}, ${JSON.stringify(NODE)}, (point) => {
      if (point === ${JSON.stringify(point)}) process.kill(process.pid, "SIGKILL");
    });`;
  const child = Bun.spawn([process.execPath, "-e", script], { stderr: "inherit", stdout: "ignore" });
  await child.exited;
  expect([point, child.signalCode]).toEqual([point, "SIGKILL"]);
}

describe.each(["SQLite", "PostgreSQL"])("the key of a store on %s", (kind) => {
  const placeOf = async (): Promise<StorePlace> =>
    kind === "SQLite" ? { file: join(directory, "boxyard.db") } : { url: await postgres.database() };

  test("is replaced: everything that is sealed can be read, and the old key opens nothing", async () => {
    const place = await placeOf();
    const read = await plant(place);
    const before = keyFile();
    const oldSealer = await settledSealer(directory, place, NODE);
    expect(await rotateStoreKey(directory, place, NODE)).toBe(6);
    expect([keyFile() === before, existsSync(join(directory, "store-key.next"))]).toEqual([false, false]);
    const store = await open(place);
    expect(await read(store)).toEqual(ALL);
    await store.close();
    await expect(SqlStore.open(place, NODE, oldSealer)).rejects.toMatchObject({ reason: "store_key" });
    if (kind === "PostgreSQL") return;
    const bytes = Buffer.concat(readdirSync(directory).map((name) => readFileSync(join(directory, name))));
    expect([bytes.includes(oldSealer.keyId), bytes.includes("in-plain-words")]).toEqual([false, false]);
  }, 60_000);

  test.each([...ROTATION_POINTS])(
    "opens after kill -9 of its rotation at '%s', and is rotated by the next one",
    async (point) => {
      const place = await placeOf();
      const read = await plant(place);
      await killedAt(place, point);
      const store = await open(place);
      expect(await read(store)).toEqual(ALL);
      await store.close();
      expect(existsSync(join(directory, "store-key.next"))).toBe(false);
      expect(await rotateStoreKey(directory, place, NODE)).toBe(6);
      const again = await open(place);
      expect(await read(again)).toEqual(ALL);
      await again.close();
    },
    60_000,
  );
});

test("a store whose file was removed after a rotation that was broken off begins anew", async () => {
  const place = { file: join(directory, "boxyard.db") };
  await plant(place);
  await killedAt(place, "key made");
  for (const end of ["", "-wal", "-shm"]) rmSync(`${place.file}${end}`, { force: true });
  const store = await open(place);
  expect(await store.secrets.list(teamId)).toEqual([]);
  await store.close();
  expect(existsSync(join(directory, "store-key.next"))).toBe(false);
}, 60_000);

test("another data directory's texts on the same database stay as they are", async () => {
  const place = { url: await postgres.database() };
  const read = await plant(place);
  const theirs = mkdtempSync(join(tmpdir(), "boxyard-rotate-other-"));
  try {
    const other = await SqlStore.open(place, "there", await settledSealer(theirs, place, "there"));
    await other.secrets.add({ id: "sec_2", teamId, name: "two", value: "of another", metadata: {}, createdAt: 1 }, 9);
    expect(await rotateStoreKey(directory, place, NODE)).toBe(6);
    expect(await other.secrets.value(teamId, "two")).toBe("of another");
    await other.close();
    const store = await open(place);
    expect(await read(store)).toEqual(ALL);
    await store.close();
  } finally {
    rmSync(theirs, { recursive: true, force: true });
  }
}, 60_000);
