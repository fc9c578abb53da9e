import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ACCESS, type Access, includes, routes, SCOPES, type Scope } from "@boxyard/spec/platform";
import { eventually } from "@boxyard/testkit";
import { TestServer } from "../testing/test-server.ts";

/* What routes declare about their callers is what the server asks of them. The routes come from the specification, so a new one is tested by itself. */

let s: TestServer;
const keyWith: Partial<Record<Scope, { "X-API-Key": string }>> = {};
beforeAll(async () => {
  s = await TestServer.start();
  for (const scope of SCOPES) keyWith[scope] = await s.keyWith(scope);
});
afterAll(() => s[Symbol.asyncDispose]());

interface Declared {
  readonly method: string;
  readonly path: string;
  readonly [ACCESS]: Access;
}
const ALL = (Object.values(routes) as Declared[]).map((route) => ({
  method: route.method.toUpperCase(),
  path: route.path.replaceAll(/\{[^{}]+\}/g, "none"),
  access: route[ACCESS],
}));
const WITH_KEY = ALL.flatMap(({ access, ...route }) => (access.scope === null ? [] : [{ ...route, ...access }]));
const without = (scope: Scope) => SCOPES.filter((held) => !includes([held], scope));

describe.each(WITH_KEY)("$method $path", ({ method, path, scope }) => {
  test(`refuses a caller without a key, and one without the scope ${scope}`, async () => {
    expect((await s.call(method, path, undefined, { "X-API-Key": "" })).status).toBe(401);
    for (const held of without(scope)) {
      const { status, body } = await s.call(method, path, undefined, keyWith[held]);
      expect([held, status, body.error_code]).toEqual([held, 403, "scope_missing"]);
      expect(body.message).toContain(`lacks the scope '${scope}'`);
    }
  });

  test("takes each scope that includes it", async () => {
    // Its answer has no end.
    if (path === "/events/stream") return;
    for (const held of SCOPES.filter((other) => includes([other], scope))) {
      expect([held, (await s.call(method, path, undefined, keyWith[held])).status]).not.toEqual([held, 403]);
    }
  });
});

test.each(WITH_KEY.filter(({ owner }) => owner === "server"))(
  "$method $path refuses the administrators of other teams",
  async ({ method, path }) => {
    const { teamID, headers } = await s.team("other");
    const { status, body } = await s.call(method, path, undefined, headers);
    expect([status, body.error_code]).toEqual([403, "scope_missing"]);
    expect((await s.call("DELETE", `/admin/teams/${teamID}`)).status).toBe(204);
  },
);

test("a route says who may call it, and only the health check is for all", () => {
  expect(ALL.filter(({ access }) => access.scope === null).map(({ path }) => path)).toEqual(["/health"]);
});

test("a key with the scope read sees a sandbox without its token", async () => {
  const { sandboxID, envdAccessToken } = await s.create();
  const seen = async (scope: Scope) => (await s.call("GET", `/sandboxes/${sandboxID}`, undefined, keyWith[scope])).body;
  expect([(await seen("read")).envdAccessToken, (await seen("templates")).envdAccessToken]).toEqual([undefined, undefined]);
  expect([(await seen("sandboxes")).envdAccessToken, (await seen("read")).sandboxID]).toEqual([envdAccessToken, sandboxID]);
});

test("a bearer token and the admin token are keys too; the admin token acts for the team that it names", async () => {
  const bearer = { "X-API-Key": "", Authorization: `Bearer ${(await s.call("POST", "/access-tokens", { name: "cli" })).body.token}` };
  const { sandboxID } = await s.create();
  expect((await s.call("GET", `/sandboxes/${sandboxID}`, undefined, bearer)).status).toBe(200);
  const admin = { "X-API-Key": "", "X-Admin-Token": s.adminToken };
  expect((await s.call("GET", `/sandboxes/${sandboxID}`, undefined, admin)).status).toBe(200);
  const { teamID } = await s.team("acting");
  for (const team of [teamID, "acting"]) {
    for (const headers of [admin, bearer]) {
      expect((await s.call("GET", `/sandboxes/${sandboxID}`, undefined, { ...headers, "X-Team-ID": team })).status).toBe(404);
    }
    expect((await s.call("GET", "/sandboxes", undefined, { "X-Team-ID": team })).status).toBe(400);
  }
  expect((await s.call("GET", "/sandboxes", undefined, { ...admin, "X-Team-ID": "none" })).status).toBe(400);
  expect((await s.call("GET", "/sandboxes", undefined, { "X-Admin-Token": "wrong" })).body.error_code).toBe("admin_token_invalid");
  const events = await s.server.context.store.events.read(0, 1000);
  await s.call("DELETE", `/sandboxes/${sandboxID}`, undefined, admin);
  const later = await s.server.context.store.events.read(events.at(-1)?.cursor ?? 0, 10);
  expect(later.map(({ actor }) => actor.kind)).toContain("admin");
});

test("a revocation cuts the calls that the key has open", async () => {
  const { key, id } = (await s.call("POST", "/api-keys", { name: "open" })).body;
  s.world.faults.add("create", { kind: "hang" });
  const open = fetch(`${s.url}/v2/sandboxes`, {
    ...{ method: "POST", headers: { "X-API-Key": key, "Content-Type": "application/json" }, body: JSON.stringify({ templateID: "base" }) },
  }).catch(() => "cut");
  await eventually("the create waits", () => s.world.faults.calls.at(-1) === "create");
  expect((await s.call("DELETE", `/api-keys/${id}`)).status).toBe(204);
  expect(await open).toBe("cut");
});

test("a key may revoke itself, and is answered", async () => {
  const { key, id } = (await s.call("POST", "/api-keys", { name: "own" })).body;
  expect((await s.call("DELETE", `/api-keys/${id}`, undefined, { "X-API-Key": key })).status).toBe(204);
  expect((await s.call("GET", "/api-keys", undefined, { "X-API-Key": key })).status).toBe(401);
});
