import { afterAll, beforeAll, expect, test } from "bun:test";
import { Place } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";

const place = new Place();
let s: TestServer;
let team: { teamID: string; headers: Record<string, string> };
beforeAll(async () => {
  s = await place.boot();
  team = await s.team("limited");
});
afterAll(() => place[Symbol.asyncDispose]());

const as = (method: string, path: string, body?: unknown) => s.call(method, path, body, team.headers);
const create = () => as("POST", "/v2/sandboxes", { templateID: "base" });
const set = async (limits: object) => (await s.call("PATCH", "/admin/teams/limited", { limits })).body.limits;
const killAll = async () => {
  for (const { sandboxID } of (await as("GET", "/v2/sandboxes")).body) await as("DELETE", `/sandboxes/${sandboxID}`);
};

function expectLimit({ status, headers, body }: Awaited<ReturnType<typeof create>>, name: string, value: number): void {
  expect([status, body.error_code, body.message]).toEqual([429, "team_limit", expect.stringContaining(`its limit ${name} (${value})`)]);
  expect(headers.get("retry-after")).toMatch(/^\d+$/);
}

test("a met limit is 429 with its name and value, for one team alone, and lasts over a restart", async () => {
  expect(await set({ sandboxes: 1 })).toMatchObject({ sandboxes: 1, cpus: 16_000 });
  const { sandboxID } = (await create()).body;
  expectLimit(await create(), "sandboxes", 1);
  expectLimit(await as("POST", `/sandboxes/${sandboxID}/fork`, {}), "sandboxes", 1);
  await s.call("DELETE", `/sandboxes/${(await s.create()).sandboxID}`);
  await place.crash(s);
  s = await place.boot();
  expectLimit(await create(), "sandboxes", 1);
  expect((await as("POST", `/sandboxes/${sandboxID}/pause`, {})).status).toBe(204);
  expect((await create()).status).toBe(201);
  expectLimit(await as("POST", `/sandboxes/${sandboxID}/connect`, { timeout: 60 }), "sandboxes", 1);
  expect(await set({ sandboxes: "default" })).toMatchObject({ sandboxes: 2000 });
  expect((await as("POST", `/sandboxes/${sandboxID}/connect`, { timeout: 60 })).status).toBe(201);
  await killAll();
});

test("processors, memory, disk, lifetimes and the rate of creates have limits", async () => {
  for (const [name, value] of [
    ["cpus", 1],
    ["memoryMB", 1],
    ["diskMB", 1],
    ["createsPerMinute", 0],
  ] as const) {
    await set({ [name]: value });
    expectLimit(await create(), name, value);
    await set({ [name]: "default" });
  }
  await set({ timeoutHours: 1 });
  const late = await as("POST", "/v2/sandboxes", { templateID: "base", timeout: 3601 });
  expect([late.status, late.body.message]).toEqual([400, "timeout: Timeout cannot be greater than 1 hours"]);
  expect((await s.call("POST", "/v2/sandboxes", { templateID: "none", timeout: 3601 })).status).toBe(404);
  await set({ timeoutHours: "default" });
});

test("templates and builds have limits; a new build of a template that exists counts as no template", async () => {
  await set({ templates: 1, builds: 0 });
  const { templateID, buildID } = (await as("POST", "/v3/templates", { name: "one" })).body;
  expectLimit(await as("POST", "/v3/templates", { name: "two" }), "templates", 1);
  expect((await as("POST", "/v3/templates", { name: "one", tags: ["other"] })).status).toBe(202);
  expectLimit(await as("POST", `/v2/templates/${templateID}/builds/${buildID}`, { fromTemplate: "base", steps: [] }), "builds", 0);
});

test("refusals", async () => {
  for (const limits of [{ sandboxes: -1 }, { sandboxes: 1.5 }, { sandboxes: "many" }]) {
    expect((await s.call("PATCH", "/admin/teams/limited", { limits })).status).toBe(400);
  }
  expect((await s.call("PATCH", "/admin/teams/none", { name: "x" })).status).toBe(404);
  expect((await s.call("PATCH", "/admin/teams/limited", { name: "Another" })).body.name).toBe("Another");
  expect((await s.call("PATCH", "/admin/teams/limited", { limits: { dogs: 1 } })).body.limits.dogs).toBeUndefined();
});
