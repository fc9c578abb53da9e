import { afterAll, beforeAll, expect, test } from "bun:test";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
beforeAll(async () => {
  s = await TestServer.start();
});
afterAll(() => s[Symbol.asyncDispose]());

test("create, list, use and revoke", async () => {
  const created = await s.call("POST", "/api-keys", { name: " ci " });
  const { key, id, mask } = created.body;
  expect([created.status, created.body.name]).toEqual([201, "ci"]);
  expect(key).toMatch(/^e2b_[0-9a-f]{40}$/);
  expect(mask).toEqual({ prefix: "e2b_", valueLength: 40, maskedValuePrefix: key.slice(4, 8), maskedValueSuffix: key.slice(-4) });
  const listed = await s.call("GET", "/api-keys", undefined, { "X-API-Key": key });
  expect(listed.body.map(({ name }: { name: string }) => name)).toEqual(["first", "ci"]);
  expect(JSON.stringify(listed.body)).not.toContain(key.slice(8, -4));
  expect((await s.call("DELETE", `/api-keys/${id}`)).status).toBe(204);
  expect((await s.call("GET", "/api-keys", undefined, { "X-API-Key": key })).status).toBe(401);
  expect((await s.call("DELETE", `/api-keys/${id}`)).status).toBe(404);
});

test("rename", async () => {
  const { key, ...made } = (await s.call("POST", "/api-keys", { name: "old" })).body;
  const renamed = await s.call("PATCH", `/api-keys/${made.id}`, { name: "new" });
  expect([renamed.status, renamed.body]).toEqual([200, { ...made, name: "new" }]);
  expect((await s.call("GET", "/api-keys", undefined, { "X-API-Key": key })).body.map(({ name }: { name: string }) => name)).toContain(
    "new",
  );
  expect((await s.call("PATCH", `/api-keys/${made.id}`, { name: " " })).status).toBe(400);
  expect((await s.call("PATCH", "/api-keys/none", { name: "new" })).body.error_code).toBe("key_not_found");
  expect((await s.call("DELETE", `/api-keys/${made.id}`)).status).toBe(204);
});

test("scopes and an expiry are kept, and shown", async () => {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const { key, ...made } = (await s.call("POST", "/api-keys", { name: "viewer", scopes: ["read", "templates"], expiresAt })).body;
  expect(made).toMatchObject({ scopes: ["read", "templates"], expiresAt });
  const listed = (await s.call("GET", "/api-keys")).body;
  expect(listed.at(-1)).toEqual(made);
  expect((await s.call("GET", "/templates", undefined, { "X-API-Key": key })).status).toBe(200);
  await s.call("DELETE", `/api-keys/${made.id}`);
});

test("access tokens are made, listed and revoked", async () => {
  const created = await s.call("POST", "/access-tokens", { name: "laptop" });
  const { token, ...made } = created.body;
  expect([created.status, token]).toEqual([201, expect.stringMatching(/^sk_e2b_[0-9a-f]{40}$/)]);
  expect(made.mask).toEqual({
    prefix: "sk_e2b_",
    valueLength: 40,
    maskedValuePrefix: token.slice(7, 11),
    maskedValueSuffix: token.slice(-4),
  });
  expect((await s.call("GET", "/access-tokens")).body).toEqual([made]);
  expect((await s.call("DELETE", `/api-keys/${made.id}`)).status).toBe(404);
  expect((await s.call("DELETE", `/access-tokens/${made.id}`)).status).toBe(204);
  expect((await s.call("DELETE", `/access-tokens/${made.id}`)).status).toBe(404);
  expect((await s.call("GET", "/teams", undefined, { "X-API-Key": "", Authorization: `Bearer ${token}` })).status).toBe(401);
});

test("refusals", async () => {
  for (const body of [
    {},
    { name: "" },
    { name: "  " },
    { name: "x".repeat(101) },
    { name: 1 },
    { name: "a", scopes: [] },
    { name: "a", scopes: ["all"] },
    { name: "a", expiresAt: "soon" },
  ]) {
    expect((await s.call("POST", "/api-keys", body)).status).toBe(400);
  }
  const past = await s.call("POST", "/api-keys", { name: "a", expiresAt: "2020-01-01T00:00:00Z" });
  expect(past.body.error_code).toBe("already_expired");
  const [first] = (await s.call("GET", "/api-keys")).body;
  const last = await s.call("DELETE", `/api-keys/${first.id}`);
  expect([last.body.error_code, (await s.call("GET", "/api-keys")).status]).toEqual(["last_key", 200]);
  expect((await s.call("GET", "/api-keys", undefined, { "X-API-Key": "e2b_00" })).status).toBe(401);
});
