import { afterAll, beforeAll, expect, test } from "bun:test";
import { Place } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";

const place = new Place();
let s: TestServer;
beforeAll(async () => {
  s = await place.boot();
});
afterAll(() => place[Symbol.asyncDispose]());

const named = (body: { slug: string }[]) => body.map(({ slug }) => slug);

test("a team is made with a key, listed, and removed once it has nothing", async () => {
  const created = await s.call("POST", "/admin/teams", { slug: "research", name: " Research " });
  const { key, ...team } = created.body;
  expect([created.status, team]).toEqual([
    201,
    { teamID: expect.any(String), slug: "research", name: "Research", createdAt: expect.any(String) },
  ]);
  const own = { "X-API-Key": key };
  expect((await s.call("GET", "/teams", undefined, own)).body).toEqual([
    { teamID: team.teamID, slug: "research", name: "Research", apiKey: key, isDefault: true },
  ]);
  expect(named((await s.call("GET", "/admin/teams")).body)).toEqual(["default", "research"]);
  const { sandboxID } = (await s.call("POST", "/v2/sandboxes", { templateID: "base" }, own)).body;
  const refused = await s.call("DELETE", "/admin/teams/research");
  expect([refused.status, refused.body.message]).toEqual([409, expect.stringContaining("1 sandboxes, 0 templates and 0 volumes")]);
  expect((await s.call("DELETE", `/sandboxes/${sandboxID}`, undefined, own)).status).toBe(204);
  expect((await s.call("DELETE", `/admin/teams/${team.teamID}`)).status).toBe(204);
  expect((await s.call("GET", "/sandboxes", undefined, own)).status).toBe(401);
  expect((await s.call("DELETE", "/admin/teams/research")).status).toBe(404);
});

test("refusals", async () => {
  for (const body of [
    {},
    { slug: "" },
    { slug: "A" },
    { slug: "-a" },
    { slug: "a b" },
    { slug: "x".repeat(41) },
    { slug: crypto.randomUUID() },
  ]) {
    expect([body, (await s.call("POST", "/admin/teams", body)).status]).toEqual([body, 400]);
  }
  expect((await s.call("POST", "/admin/teams", { slug: "default" })).body.error_code).toBe("team_exists");
  expect((await s.call("DELETE", "/admin/teams/default")).body.error_code).toBe("default_team");
  expect((await s.call("POST", "/admin/teams/none/api-keys", { name: "x" })).body.error_code).toBe("team_not_found");
});

test("the operator makes keys of a team, and an operator's token has a key for each team", async () => {
  const { teamID } = await s.team("second");
  const { key } = (await s.call("POST", "/admin/teams/second/api-keys", { name: "ci", scopes: ["read"] })).body;
  expect((await s.call("GET", "/teams", undefined, { "X-API-Key": key })).body).toMatchObject([{ teamID, isDefault: true }]);
  const { token } = (await s.call("POST", "/access-tokens", { name: "cli" })).body;
  const bearer = { "X-API-Key": "", Authorization: `Bearer ${token}` };
  const teams = (await s.call("GET", "/teams", undefined, bearer)).body;
  expect(teams.map(({ slug, isDefault }: { slug: string; isDefault: boolean }) => [slug, isDefault])).toEqual([
    ["default", true],
    ["second", false],
  ]);
  expect((await s.call("GET", "/teams", undefined, bearer)).body).toEqual(teams);
  expect((await s.call("GET", "/teams", undefined, { "X-API-Key": teams[1].apiKey })).body[0].slug).toBe("second");
});

test("teams, keys and what they may do outlive the server", async () => {
  const { headers, teamID } = await s.team("lasting");
  const { key } = (await s.call("POST", "/api-keys", { name: "viewer", scopes: ["read"] }, headers)).body;
  const { sandboxID } = (await s.call("POST", "/v2/sandboxes", { templateID: "base" }, headers)).body;
  const admin = s.adminToken;
  await place.crash(s);
  s = await place.boot();
  expect((await s.call("GET", `/sandboxes/${sandboxID}`, undefined, { "X-API-Key": key })).status).toBe(200);
  expect((await s.call("DELETE", `/sandboxes/${sandboxID}`, undefined, { "X-API-Key": key })).status).toBe(403);
  expect((await s.call("GET", `/sandboxes/${sandboxID}`)).status).toBe(404);
  const acting = { "X-API-Key": "", "X-Admin-Token": admin, "X-Team-ID": teamID };
  expect((await s.call("DELETE", `/sandboxes/${sandboxID}`, undefined, acting)).status).toBe(204);
});
