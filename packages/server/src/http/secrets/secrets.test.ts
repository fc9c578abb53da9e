import { afterAll, beforeAll, expect, test } from "bun:test";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
beforeAll(async () => {
  s = await TestServer.start();
});
afterAll(() => s[Symbol.asyncDispose]());

const VALUE = "a-value-that-no-answer-shows";
const date = expect.stringMatching(/^\d{4}-.*Z$/);
const teamOf = async (slug: string) => (await s.team(slug)).headers;

test("a secret is stored, found by id and name in either case, given another value, and deleted; no answer has a value", async () => {
  const call = (method: string, path: string, body?: unknown) => s.call(method, path, body);
  const created = await call("POST", "/secrets", { name: "Open-AI_key", value: VALUE, metadata: { owner: "me" } });
  const { secretID } = created.body;
  const wanted = { secretID, name: "open-ai_key", currentVersion: 1, metadata: { owner: "me" }, createdAt: date, updatedAt: date };
  expect([created.status, created.body]).toEqual([201, wanted]);
  expect(secretID).toMatch(/^sec_[a-z0-9]{20}$/);
  for (const key of [secretID, "open-ai_key", "Open-AI_Key"]) expect((await call("GET", `/secrets/${key}`)).body).toEqual(wanted);
  const taken = await call("POST", "/secrets", { name: "OPEN-AI_KEY", value: "x" });
  expect([taken.status, taken.body.error_code]).toEqual([409, "secret_exists"]);
  const second = await call("POST", `/secrets/${secretID}`, { value: `${VALUE}-2` });
  expect([second.status, second.body]).toEqual([200, { ...wanted, currentVersion: 2 }]);
  const third = await call("POST", "/secrets/open-ai_key", { value: `${VALUE}-3`, metadata: {} });
  expect(third.body).toEqual({ ...wanted, currentVersion: 3, metadata: {} });
  const { teamId } = s.server.firstKey;
  expect(await s.server.context.secrets.value(teamId, "Open-AI_key")).toBe(`${VALUE}-3`);
  expect((await call("GET", "/secrets")).body).toEqual([third.body]);
  expect((await call("DELETE", "/secrets/open-ai_key")).status).toBe(204);
  for (const [method, body] of [["GET"], ["DELETE"], ["POST", { value: "x" }]] as const) {
    expect((await call(method, `/secrets/${secretID}`, body)).status).toBe(404);
  }
  await expect(s.server.context.secrets.value(teamId, secretID)).rejects.toMatchObject({ code: "not_found" });
  const events = await call("GET", `/events?targetID=${secretID}`);
  expect(events.body.events.map(({ action }: { action: string }) => action)).toEqual([
    ...["secret.created", "secret.changed", "secret.changed", "secret.removed"],
  ]);
  expect(JSON.stringify([created, taken, second, third, events].map(({ body }) => body))).not.toContain(VALUE);
});

test("what is out of bounds is a 400 that names the field, and not what it holds", async () => {
  const [long, many] = ["x".repeat(1025), Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, ""]))];
  const large = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`k${i}`, "x".repeat(1000)]));
  for (const [change, text] of [
    [{ name: "" }, "name"],
    [{ name: "a b" }, "name"],
    [{ name: "a".repeat(129) }, "name"],
    [{ name: "SEC_mine" }, "name"],
    [{ value: "" }, "value"],
    [{ value: `${VALUE}\0` }, "value"],
    [{ value: VALUE + "é".repeat(32 << 10) }, "value"],
    [{ value: 5 }, "value"],
    [{ metadata: { k: long } }, "metadata"],
    [{ metadata: { ["é".repeat(65)]: "" } }, "metadata"],
    [{ metadata: many }, "metadata"],
    [{ metadata: large }, "metadata"],
  ] as const) {
    const { status, body } = await s.call("POST", "/secrets", { name: "fine", value: VALUE, ...change });
    expect([text, status, body.message]).toEqual([text, 400, expect.stringContaining(text)]);
    expect(body.message).not.toContain(VALUE);
  }
  expect((await s.call("POST", "/secrets", { name: "x".repeat(128), value: "é".repeat(32 << 10) })).status).toBe(201);
});

test("the list has pages, and a team has a limit", async () => {
  const headers = await teamOf("paged");
  const { teamID } = (await s.call("GET", "/teams", undefined, headers)).body[0];
  const { secrets } = s.server.context;
  for (let i = 0; i < 1000; i++) await secrets.create(teamID, { name: `s${i}`, value: "x" });
  const refused = await s.call("POST", "/secrets", { name: "more", value: "x" }, headers);
  expect([refused.status, refused.body.error_code, refused.headers.get("retry-after")]).toEqual([429, "secret_limit_reached", "1"]);
  const names: string[] = [];
  for (let token = ""; ; ) {
    const page = await s.call("GET", `/secrets?limit=90${token}`, undefined, headers);
    names.push(...page.body.map(({ name }: { name: string }) => name));
    const next = page.headers.get("x-next-token");
    if (next === null) break;
    token = `&nextToken=${encodeURIComponent(next)}`;
  }
  expect(names).toHaveLength(1000);
  expect(new Set(names).size).toBe(1000);
  expect((await s.call("GET", "/secrets?nextToken=eA", undefined, headers)).status).toBe(400);
});

test("a key must have the scope admin to write; the secrets of a team go with it", async () => {
  const reader = await s.keyWith("read", "sandboxes", "templates");
  await s.call("POST", "/secrets", { name: "scoped", value: VALUE });
  expect((await s.call("GET", "/secrets/scoped", undefined, reader)).status).toBe(200);
  for (const [method, path, body] of [
    ["POST", "/secrets", { name: "n", value: "x" }],
    ["POST", "/secrets/scoped", { value: "x" }],
    ["DELETE", "/secrets/scoped", undefined],
  ] as const) {
    expect((await s.call(method, path, body, reader)).status).toBe(403);
  }
  const { teamID, headers } = await s.team("leaving");
  await s.call("POST", "/secrets", { name: "gone", value: VALUE }, headers);
  expect((await s.call("DELETE", "/admin/teams/leaving")).status).toBe(204);
  expect((await s.server.context.secrets.list(teamID as never, {})).items).toEqual([]);
});
