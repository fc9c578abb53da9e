import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TeamId } from "@boxyard/core";
import { SQL } from "bun";
import { sampleRecord } from "./sample-record.ts";
import { KEY_BYTES, Sealer } from "./sealer.ts";
import { SqlStore } from "./sql-store.ts";
import { openSealer } from "./store-key.ts";

let directory: string;
let file: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-secrets-"));
  file = join(directory, "boxyard.db");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const keyOf = (byte: number) => new Sealer(new Uint8Array(KEY_BYTES).fill(byte));
const PLANTED = { seed: "seed-in-plain-words", variable: "variable-in-plain-words", initKey: "init-key-in-plain-words" };
const plant = () => {
  const { facts, ...record } = sampleRecord({ state: "running" });
  return { ...record, facts: { ...facts, envVars: { SECRET: PLANTED.variable }, initKey: PLANTED.initKey } };
};
/** The planted texts that are in any file of the store. */
const inFiles = () => {
  const bytes = Buffer.concat(readdirSync(directory).map((name) => readFileSync(join(directory, name))));
  return Object.values(PLANTED).filter((text) => bytes.includes(text));
};
async function edit(...statements: string[]): Promise<void> {
  const sql = new SQL({ adapter: "sqlite", filename: file });
  for (const statement of statements) await sql.unsafe(statement);
  await sql.close();
}

test("seeds, environments and init keys are read back, and no file of the store has them in plain text", async () => {
  const [one, two] = [plant(), plant()];
  const store = await SqlStore.open({ file }, "here", keyOf(1));
  await store.insertSandbox(one);
  await store.insertSandbox(two);
  expect(await store.getOrCreateMeta("token-seed", () => PLANTED.seed)).toBe(PLANTED.seed);
  expect(await store.getSandbox(one.id)).toEqual(one);
  expect((await store.listLiving()).map(({ facts }) => facts)).toEqual([one.facts, two.facts]);
  expect(inFiles()).toEqual([]);
  await store.close();
  expect(inFiles()).toEqual([]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const again = await SqlStore.open({ file }, "here", keyOf(1));
  expect(await again.getSandbox(two.id)).toEqual(two);
  expect(await again.getOrCreateMeta("token-seed", () => "another")).toBe(PLANTED.seed);
  await again.close();
});

test("values of secrets are sealed, each in its own row, and another data directory does not read them", async () => {
  const teamId = "t" as TeamId;
  const store = await SqlStore.open({ file }, "here", keyOf(1));
  const secret = (id: string) => ({ id, teamId, name: id, value: `${PLANTED.seed} of ${id}`, metadata: {}, createdAt: 1 });
  for (const id of ["sec_one", "sec_two"]) await store.secrets.add(secret(id), 9);
  expect(await store.secrets.value(teamId, "sec_one")).toBe(`${PLANTED.seed} of sec_one`);
  await store.secrets.change(teamId, "sec_one", { value: PLANTED.variable, metadata: undefined, at: 2 });
  await store.secrets.remove(teamId, "sec_two");
  expect(inFiles()).toEqual([]);
  await store.secrets.add(secret("sec_two"), 9);
  await edit("UPDATE secrets SET value = (SELECT value FROM secrets WHERE id = 'sec_one') WHERE id = 'sec_two'");
  await expect(store.secrets.value(teamId, "sec_two")).rejects.toMatchObject({ reason: "store_broken" });
  await store.close();
  expect(inFiles()).toEqual([]);
  const other = await SqlStore.open({ file }, "there", keyOf(2));
  await expect(other.secrets.value(teamId, "sec_one")).rejects.toMatchObject({ reason: "secret_sealed" });
  await other.close();
});

test("plain secrets of an earlier version are sealed when the store is opened, free pages and log included", async () => {
  const records = Array.from({ length: 1001 }, plant);
  const before = await SqlStore.open({ file }, "here");
  for (const record of records) await before.insertSandbox(record);
  await before.getOrCreateMeta("upload-seed", () => PLANTED.seed);
  expect(inFiles()).toEqual(Object.values(PLANTED));
  await before.close();
  const store = await SqlStore.open({ file }, "here", keyOf(1));
  expect(inFiles()).toEqual([]);
  expect((await store.listLiving()).length).toBe(records.length);
  expect(await store.getSandbox(records[1000]?.id as never)).toEqual(records[1000] as never);
  expect(await store.getOrCreateMeta("upload-seed", () => "another")).toBe(PLANTED.seed);
  await store.close();
});

test("data directories that share a store have their own seeds and read their own sandboxes", async () => {
  const [here, there] = [plant(), plant()];
  const one = await SqlStore.open({ file }, "here", keyOf(1));
  await one.insertSandbox(here);
  const seed = await one.getOrCreateMeta("token-seed", () => "of here");
  const two = await SqlStore.open({ file }, "there", keyOf(2));
  await two.insertSandbox(there);
  expect([seed, await two.getOrCreateMeta("token-seed", () => "of there")]).toEqual(["of here", "of there"]);
  expect([await one.listLiving(), await two.listLiving()]).toEqual([[here], [there]]);
  expect((await two.getSandbox(here.id))?.facts).toMatchObject({ envVars: {}, initKey: "" });
  await Promise.all([one.close(), two.close()]);
});

test("after the loss of the key, ended sandboxes are read without their secrets", async () => {
  const record = plant();
  const store = await SqlStore.open({ file }, "here", keyOf(1));
  await store.insertSandbox(record);
  await store.updateSandbox(record.id, ["running"], { state: "dead", endedAt: 1 });
  await store.close();
  const again = await SqlStore.open({ file }, "here", keyOf(2));
  expect(await again.getSandbox(record.id)).toMatchObject({ state: "dead", facts: { envVars: {}, initKey: "" } });
  await again.close();
});

test("a store with living sandboxes is not opened with another key, its secrets are not read without one, and nothing is changed", async () => {
  const record = plant();
  const store = await SqlStore.open({ file }, "here", keyOf(1));
  await store.insertSandbox(record);
  await store.close();
  await expect(SqlStore.open({ file }, "here", keyOf(2))).rejects.toMatchObject({ code: "data_loss", reason: "store_key" });
  const keyless = await SqlStore.open({ file }, "here");
  await expect(keyless.getSandbox(record.id)).rejects.toMatchObject({ reason: "store_key" });
  await keyless.close();
  const again = await SqlStore.open({ file }, "here", keyOf(1));
  expect(await again.getSandbox(record.id)).toEqual(record);
  await again.close();
});

test("a sealed text opens in its own row only, and not after a byte was changed", async () => {
  const [one, two] = [plant(), plant()];
  const store = await SqlStore.open({ file }, "here", keyOf(1));
  for (const record of [one, two]) await store.insertSandbox(record);
  await edit(`UPDATE sandboxes SET spec = (SELECT spec FROM sandboxes WHERE id = '${one.id}') WHERE id = '${two.id}'`);
  await expect(store.getSandbox(two.id)).rejects.toMatchObject({ code: "data_loss", reason: "store_broken" });
  await store.close();
  const sealed = keyOf(1).seal("text", "place");
  expect(keyOf(1).open(sealed, "place")).toBe("text");
  const changed = sealed.replace(/.$/, (last) => (last === "A" ? "Q" : "A"));
  expect(() => keyOf(1).open(changed, "place")).toThrow("was changed");
  for (const short of [sealed.slice(0, -20), sealed.slice(0, sealed.lastIndexOf(".") + 1)])
    expect(() => keyOf(1).open(short, "place")).toThrow("was changed");
  expect(keyOf(1).seal("text", "place")).not.toBe(sealed);
});

test("a data directory's key is made once, for root alone, and a damaged key is refused", async () => {
  const ids = await Promise.all(Array.from({ length: 4 }, async () => openSealer(directory).keyId));
  expect(new Set(ids).size).toBe(1);
  expect(readdirSync(directory)).toEqual(["store-key"]);
  expect(statSync(join(directory, "store-key")).mode & 0o777).toBe(0o600);
  await Bun.write(join(directory, "store-key"), "0123");
  expect(() => openSealer(directory)).toThrow("does not hold the store's key");
});
