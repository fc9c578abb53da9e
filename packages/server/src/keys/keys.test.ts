import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError, FakeClock } from "@boxyard/core";
import { SqlStore, type Store } from "../store/index.ts";
import { hashKey, hintOf, newApiKey } from "./api-key.ts";
import { ensureFirstKey, Keys } from "./keys.ts";

let directory: string;
let store: Store;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-keys-"));
  store = await SqlStore.open({ file: join(directory, "boxyard.db") }, "node");
});
afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

test("the first key is made once, readable by root only, and kept as a hash", async () => {
  const first = await ensureFirstKey(store, directory, 1);
  expect(first.created).toBe(true);
  expect(first.key).toMatch(/^e2b_[0-9a-f]{40}$/);
  expect(statSync(first.path).mode & 0o777).toBe(0o600);
  expect(await ensureFirstKey(store, directory, 2)).toEqual({ ...first, created: false });
  const keys = await store.listKeys();
  expect(keys.map(({ hash, hint }) => [hash, hint])).toEqual([[hashKey(first.key), hintOf(first.key)]]);
  for (const file of ["boxyard.db", "boxyard.db-wal"])
    expect(readFileSync(join(directory, file), "latin1")).not.toContain(first.key.slice(9, -5));
});

test("a key file without a key is not overwritten", async () => {
  writeFileSync(join(directory, "api-key"), "something else\n");
  await expect(ensureFirstKey(store, directory, 1)).rejects.toMatchObject({ reason: "bad_key_file" });
});

test("valid keys are accepted, others refused", async () => {
  const { key } = await ensureFirstKey(store, directory, 1);
  const keys = new Keys(store, new FakeClock(5));
  const caller = await keys.authenticate(key);
  expect(caller.teamId).toBe(await store.ensureTeam("default", ""));
  expect(await keys.authenticate(key)).toEqual(caller);
  await expect(keys.authenticate(undefined)).rejects.toMatchObject({ code: "unauthenticated", reason: "api_key_missing" });
  for (const wrong of [newApiKey(), key.slice(0, -1), `${key}0`, key.toUpperCase(), "x"]) {
    await expect(keys.authenticate(wrong)).rejects.toMatchObject({ code: "unauthenticated", reason: "api_key_invalid" });
  }
});

test("more keys: shown once, revoked at once, and the revoked first one stays revoked", async () => {
  const first = await ensureFirstKey(store, directory, 1);
  const keys = new Keys(store, new FakeClock(5));
  const caller = await keys.authenticate(first.key);
  await expect(keys.revoke(caller, caller.keyId)).rejects.toMatchObject({ code: "failed_precondition", reason: "last_key" });
  const { key, record } = await keys.create(caller, "ci");
  expect(await keys.authenticate(key)).toEqual({ teamId: caller.teamId, keyId: record.id });
  expect((await keys.list(caller)).map(({ name }) => name)).toEqual(["first", "ci"]);
  await keys.revoke(caller, caller.keyId);
  await expect(keys.authenticate(first.key)).rejects.toMatchObject({ reason: "api_key_invalid" });
  await expect(keys.revoke(caller, "nothing")).rejects.toMatchObject({ code: "not_found", reason: "key_not_found" });
  await ensureFirstKey(store, directory, 9);
  expect((await keys.list(caller)).map(({ name }) => name)).toEqual(["ci"]);
});

test("a key that is revoked during its look-up is not cached", async () => {
  const first = await ensureFirstKey(store, directory, 1);
  const keys = new Keys(store, new FakeClock(5));
  const caller = await keys.authenticate(first.key);
  const { key, record } = await keys.create(caller, "ci");
  const { findKey } = store;
  const held = Promise.withResolvers<void>();
  store.findKey = async (hash) => {
    const found = await findKey.call(store, hash);
    await held.promise;
    return found;
  };
  const inFlight = keys.authenticate(key);
  await keys.revoke(caller, record.id);
  held.resolve();
  await inFlight.catch(() => {});
  await expect(keys.authenticate(key)).rejects.toMatchObject({ reason: "api_key_invalid" });
});

test("while the store is away a cached key stays valid; a key that was revoked, or was never looked up, does not", async () => {
  const first = await ensureFirstKey(store, directory, 1);
  const clock = new FakeClock(5);
  const keys = new Keys(store, clock);
  const caller = await keys.authenticate(first.key);
  const { key, record } = await keys.create(caller, "ci");
  await keys.authenticate(key);
  await keys.revoke(caller, record.id);
  await keys.authenticate(first.key);
  await clock.advance(60_000);
  store.findKey = async () => {
    throw new AppError("unavailable", "away", { reason: "store_unavailable" });
  };
  expect(await keys.authenticate(first.key)).toEqual(caller);
  await expect(keys.authenticate(key)).rejects.toMatchObject({ reason: "store_unavailable" });
  await expect(keys.authenticate(newApiKey())).rejects.toMatchObject({ reason: "store_unavailable" });
});
