import { afterAll, beforeAll, expect, test } from "bun:test";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
beforeAll(async () => {
  s = await TestServer.start();
});
afterAll(() => s[Symbol.asyncDispose]());

test("GET /nodes and /nodes/{id} show the machine, and what its sandboxes have of it", async () => {
  const { sandboxID } = await s.create();
  const paused = await s.create();
  await s.call("POST", `/sandboxes/${paused.sandboxID}/pause`);
  const list = await s.call("GET", "/nodes");
  expect(list.status).toBe(200);
  expect(list.body).toHaveLength(1);
  const [node] = list.body;
  expect(node).toMatchObject({
    id: "home",
    nodeID: "home",
    status: "ready",
    sandboxCount: 1,
    sandboxStartingCount: 0,
    createSuccesses: 2,
    createFails: 0,
    serviceInstanceID: list.headers.get("x-server-run"),
    metrics: { allocatedCPU: 2, allocatedMemoryBytes: 2 ** 30 },
  });
  const one = (await s.call("GET", "/nodes/home")).body;
  expect(one.sandboxes.map(({ sandboxID: id }: { sandboxID: string }) => id)).toEqual([sandboxID]);
  expect(one.cachedBuilds).toHaveLength(1);
  expect((await s.call("GET", "/nodes/other")).status).toBe(404);
});

test("POST /nodes/{id} is refused, for there is no other machine", async () => {
  const { status, body } = await s.call("POST", "/nodes/home", { status: "draining" });
  expect([status, body.message]).toEqual([501, expect.stringContaining("no other that could take its sandboxes")]);
  expect((await s.call("POST", "/nodes/other", { status: "draining" })).status).toBe(404);
});

test("POST /admin/teams/{team}/sandboxes/kill ends all of one team, and of no other", async () => {
  const { headers, teamID } = await s.team("ended");
  const make = async () => (await s.call("POST", "/v2/sandboxes", { templateID: "base" }, headers)).body.sandboxID as string;
  const [, second] = [await make(), await make()];
  await s.call("POST", `/sandboxes/${second}/pause`, undefined, headers);
  const others = (await s.call("GET", "/v2/sandboxes")).body.length;
  const { status, body } = await s.call("POST", `/admin/teams/${teamID}/sandboxes/kill`, undefined, {
    "X-API-Key": "",
    "X-Admin-Token": s.adminToken,
  });
  expect([status, body]).toEqual([200, { killedCount: 2, failedCount: 0 }]);
  expect((await s.call("GET", "/v2/sandboxes", undefined, headers)).body).toEqual([]);
  expect((await s.call("GET", "/v2/sandboxes")).body).toHaveLength(others);
  expect((await s.call("POST", "/admin/teams/ended/sandboxes/kill")).body).toEqual({ killedCount: 0, failedCount: 0 });
  expect((await s.call("POST", "/admin/teams/nobody/sandboxes/kill")).status).toBe(404);
});

test("POST /admin/teams/{team}/builds/cancel cancels all of one team that have not ended, and of no other", async () => {
  const { headers } = await s.team("builder");
  const request = (name: string, as?: Record<string, string>) => s.call("POST", "/v3/templates", { name }, as);
  const own = [(await request("one", headers)).body, (await request("two", headers)).body];
  const other = (await request("stays")).body;
  const { status, body } = await s.call("POST", "/admin/teams/builder/builds/cancel");
  expect([status, body]).toEqual([200, { cancelledCount: 2, failedCount: 0 }]);
  const statusOf = async ({ templateID, buildID }: { templateID: string; buildID: string }, as?: Record<string, string>) =>
    (await s.call("GET", `/templates/${templateID}/builds/${buildID}/status`, undefined, as)).body.status;
  expect(await Promise.all(own.map((build) => statusOf(build, headers)))).toEqual(["error", "error"]);
  expect(await statusOf(other)).toBe("waiting");
  expect((await s.call("POST", "/admin/teams/builder/builds/cancel")).body).toEqual({ cancelledCount: 0, failedCount: 0 });
});

test("only the operator may", async () => {
  const { headers } = await s.team("curious");
  for (const [method, path] of [
    ["GET", "/nodes"],
    ["GET", "/nodes/home"],
    ["POST", "/nodes/home"],
    ["POST", "/admin/teams/curious/sandboxes/kill"],
    ["POST", "/admin/teams/curious/builds/cancel"],
  ] as const) {
    expect([path, (await s.call(method, path, undefined, headers)).status]).toEqual([path, 403]);
  }
});
