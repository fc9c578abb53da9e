import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError, FakeClock, type TeamId } from "@boxyard/core";
import { SCOPES } from "@boxyard/spec/platform";
import { SqlStore, type Store } from "../store/index.ts";
import { hashKey, hintOf, newApiKey } from "./api-key.ts";
import { Credentials } from "./credentials.ts";
import { ensureAdminToken, ensureFirstKey, type FirstKey } from "./first-key.ts";
import { Keys } from "./keys.ts";

let directory: string;
let store: Store;
let first: FirstKey;
let clock: FakeClock;
let credentials: Credentials;
let keys: Keys;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-keys-"));
  store = await SqlStore.open({ file: join(directory, "boxyard.db") }, "node");
  clock = new FakeClock(5);
  first = await ensureFirstKey(store, directory, 1);
  credentials = new Credentials({ store, clock, operatorTeam: first.teamId, adminToken: await ensureAdminToken(directory) });
  keys = new Keys({ store, clock, credentials, seed: "seed" });
});
afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

const invalid = { code: "unauthenticated", reason: "api_key_invalid" };
const awayStore = async () => {
  throw new AppError("unavailable", "away", { reason: "store_unavailable" });
};

test("the first key and the admin token are made once, readable by root only; the store has the key's hash", async () => {
  expect([first.created, first.key]).toEqual([true, expect.stringMatching(/^e2b_[0-9a-f]{40}$/)]);
  const token = await ensureAdminToken(directory);
  expect([token, await ensureAdminToken(directory)]).toEqual([expect.stringMatching(/^boxyard_admin_[0-9a-f]{40}$/), token]);
  for (const name of ["api-key", "admin-token"]) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
  expect(await ensureFirstKey(store, directory, 2)).toEqual({ ...first, created: false });
  expect((await store.keys.list()).map(({ hash, hint, scopes }) => [hash, hint, scopes])).toEqual([
    [hashKey(first.key), hintOf(first.key), [...SCOPES]],
  ]);
  for (const file of ["boxyard.db", "boxyard.db-wal"])
    expect(readFileSync(join(directory, file), "latin1")).not.toContain(first.key.slice(9, -5));
});

test("a file without a key or token is not overwritten", async () => {
  for (const name of ["api-key", "admin-token"]) writeFileSync(join(directory, name), "something else\n");
  await expect(ensureFirstKey(store, directory, 1)).rejects.toMatchObject({ reason: "bad_key_file" });
  await expect(ensureAdminToken(directory)).rejects.toMatchObject({ reason: "bad_key_file" });
});

test("valid keys are accepted, others refused", async () => {
  const caller = await credentials.authenticate(first.key);
  expect(caller).toMatchObject({ teamId: first.teamId, kind: "key", scopes: [...SCOPES] });
  expect(await credentials.authenticate(first.key)).toEqual(caller);
  await expect(credentials.authenticate(undefined)).rejects.toMatchObject({ code: "unauthenticated", reason: "api_key_missing" });
  for (const wrong of [newApiKey(), first.key.slice(0, -1), `${first.key}0`, first.key.toUpperCase(), "x"]) {
    await expect(credentials.authenticate(wrong)).rejects.toMatchObject(invalid);
  }
});

test("the admin token acts for any team, other callers for their own", async () => {
  const team = await store.teams.add("research", "Research");
  const admin = credentials.authenticateAdmin(await ensureAdminToken(directory));
  expect([admin.teamId, credentials.isOperator(admin)]).toEqual([first.teamId, true]);
  for (const named of ["research", String(team?.id)]) expect((await credentials.actFor(admin, named)).teamId).toBe(team?.id as TeamId);
  await expect(credentials.actFor(admin, "nobody")).rejects.toMatchObject({ reason: "team_not_found" });
  for (const wrong of ["", "x", first.key])
    expect(() => credentials.authenticateAdmin(wrong)).toThrow(expect.objectContaining({ reason: "admin_token_invalid" }));
  const own = await credentials.authenticate(first.key);
  expect(credentials.isOperator(own)).toBe(true);
  expect(await credentials.actFor(own, "default")).toEqual(own);
  for (const named of ["research", "nobody"])
    await expect(credentials.actFor(own, named)).rejects.toMatchObject({ code: "invalid_argument", reason: "team_mismatch" });
  const theirs = await credentials.authenticate((await keys.create(team?.id as TeamId, { name: "x" })).key);
  expect(credentials.isOperator(theirs)).toBe(false);
});

test("more keys: shown once, revoked at once, and the revoked first one stays revoked", async () => {
  const caller = await credentials.authenticate(first.key);
  const last = { code: "failed_precondition", reason: "last_key" };
  await expect(keys.revoke(caller.teamId, caller.keyId)).rejects.toMatchObject(last);
  const { key, record } = await keys.create(caller.teamId, { name: "ci" });
  const reader = await keys.create(caller.teamId, { name: "reader", scopes: ["read"] });
  expect(await credentials.authenticate(key)).toMatchObject({ teamId: caller.teamId, keyId: record.id });
  expect((await keys.list(caller.teamId)).map(({ name }) => name).sort()).toEqual(["ci", "first", "reader"]);
  await keys.revoke(caller.teamId, caller.keyId);
  await expect(credentials.authenticate(first.key)).rejects.toMatchObject(invalid);
  await expect(keys.revoke(caller.teamId, record.id)).rejects.toMatchObject(last);
  await keys.revoke(caller.teamId, reader.record.id);
  await expect(keys.revoke(caller.teamId, "nothing")).rejects.toMatchObject({ code: "not_found", reason: "key_not_found" });
  await ensureFirstKey(store, directory, 9);
  expect((await keys.list(caller.teamId)).map(({ name }) => name)).toEqual(["ci"]);
});

test("a key is refused from its expiry on, also while it is cached, and its calls are cut then", async () => {
  await expect(keys.create(first.teamId, { name: "late", expiresAt: 5 })).rejects.toMatchObject({ reason: "already_expired" });
  const { key } = await keys.create(first.teamId, { name: "short", expiresAt: 1005 });
  const caller = await credentials.authenticate(key);
  let cut = 0;
  const ended = credentials.hold(caller, () => {
    cut += 10;
  });
  ended();
  credentials.hold(caller, () => {
    cut += 1;
  });
  await clock.advance(999);
  expect([(await credentials.authenticate(key)).keyId, cut]).toEqual([caller.keyId, 0]);
  await clock.advance(1);
  await expect(credentials.authenticate(key)).rejects.toMatchObject({ code: "unauthenticated", reason: "api_key_expired" });
  expect(cut).toBe(1);
});

test("a revocation cuts the calls of the key, also one that is being admitted, and no other", async () => {
  const { key, record } = await keys.create(first.teamId, { name: "ci" });
  const caller = await credentials.authenticate(key);
  const cuts: string[] = [];
  const ended = credentials.hold(caller, () => cuts.push("ended"));
  credentials.hold(caller, () => cuts.push("open"));
  credentials.hold(await credentials.authenticate(first.key), () => cuts.push("other"));
  credentials.onRevoked((keyId) => cuts.push(keyId));
  ended();
  await keys.revoke(first.teamId, record.id);
  credentials.hold(caller, () => cuts.push("late"));
  expect(cuts).toEqual(["open", record.id, "late"]);
});

test("an access token gets one API key for a team, which ends with the token", async () => {
  const { key: token, record } = await keys.create(first.teamId, { name: "cli", scopes: ["read", "templates"] }, "token");
  expect([token, record.kind]).toEqual([expect.stringMatching(/^sk_e2b_[0-9a-f]{40}$/), "token"]);
  const caller = await credentials.authenticate(token);
  const [child, again] = await Promise.all([keys.childOf(caller, first.teamId), keys.childOf(caller, first.teamId)]);
  expect([child, await keys.childOf(caller, first.teamId)]).toEqual([again, again]);
  const { keyId, scopes, kind } = await credentials.authenticate(child);
  expect([scopes, kind, (await keys.list(first.teamId)).length]).toEqual([["read", "templates"], "key", 2]);
  await keys.revoke(first.teamId, keyId);
  const next = await keys.childOf(caller, first.teamId);
  expect(next).not.toBe(child);
  const moved = new Keys({ store, clock, credentials, seed: "another" });
  const third = await moved.childOf(caller, first.teamId);
  await expect(credentials.authenticate(next)).rejects.toMatchObject(invalid);
  await expect(keys.revoke(first.teamId, record.id)).rejects.toMatchObject({ reason: "key_not_found" });
  await keys.revoke(first.teamId, record.id, "token");
  for (const gone of [token, third]) await expect(credentials.authenticate(gone)).rejects.toMatchObject(invalid);
  expect(await keys.list(first.teamId, "token")).toEqual([]);
});

test("a key that is revoked during its look-up is not cached", async () => {
  const { key, record } = await keys.create(first.teamId, { name: "ci" });
  const { find } = store.keys;
  const held = Promise.withResolvers<void>();
  store.keys.find = async (hash) => {
    const found = await find.call(store.keys, hash);
    await held.promise;
    return found;
  };
  const inFlight = credentials.authenticate(key);
  await keys.revoke(first.teamId, record.id);
  held.resolve();
  await inFlight.catch(() => {});
  await expect(credentials.authenticate(key)).rejects.toMatchObject(invalid);
});

test("while the store is away a cached key stays valid; a key that was revoked, or was never looked up, does not", async () => {
  const { key, record } = await keys.create(first.teamId, { name: "ci" });
  await credentials.authenticate(key);
  await keys.revoke(first.teamId, record.id);
  const caller = await credentials.authenticate(first.key);
  await clock.advance(60_000);
  store.keys.find = awayStore;
  expect(await credentials.authenticate(first.key)).toEqual(caller);
  await expect(credentials.authenticate(key)).rejects.toMatchObject({ reason: "store_unavailable" });
  await expect(credentials.authenticate(newApiKey())).rejects.toMatchObject({ reason: "store_unavailable" });
});
