import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
beforeAll(async () => {
  s = await TestServer.start();
});
afterAll(() => s[Symbol.asyncDispose]());

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const request = (body: unknown, headers?: Record<string, string>) => s.call("POST", "/v3/templates", body, headers);

describe("POST /v3/templates: request (docs/contract/templates.md)", () => {
  test("answers 202 with every member of 2.7", async () => {
    const { status, body } = await request({ name: "every-member", cpuCount: 1, memoryMB: 128 });
    expect(status).toBe(202);
    expect(body).toEqual({
      templateID: expect.stringMatching(/^[a-z0-9]{20}$/),
      buildID: expect.stringMatching(UUID),
      public: false,
      names: ["default/every-member"],
      tags: ["default"],
      aliases: ["every-member"],
    });
  });

  test.each([
    ["no member at all", {}, [], ["default"]],
    ["a tag in the name", { name: "tagged:v1" }, ["tagged"], ["v1"]],
    ["a tag in the name and among the tags", { name: "tagged:v1", tags: ["v1", "v2"] }, ["tagged"], ["v1", "v2"]],
    ["tags alone", { name: "tagged", tags: ["a.b-c_d", "A.B-C_D"] }, ["tagged"], ["a.b-c_d"]],
    ["`default` in the name, as if it stood in `tags`", { name: "tagged:default", tags: ["x"] }, ["tagged"], ["default", "x"]],
    ["a name of 128 characters", { name: "n".repeat(128) }, ["n".repeat(128)], ["default"]],
    ["capitals and spaces", { name: "  UPPER " }, ["upper"], ["default"]],
    ["the caller's namespace", { name: "default/spaced" }, ["spaced"], ["default"]],
    ["the deprecated alias", { alias: "by-alias:v3" }, ["by-alias"], ["v3"]],
    ["an alias of 128 characters", { alias: "a".repeat(128) }, ["a".repeat(128)], ["default"]],
    ["name before alias", { name: "first", alias: "second" }, ["first"], ["default"]],
    ["the deprecated teamID", { name: "teamed", teamID: "prj_1" }, ["teamed"], ["default"]],
    ["an odd number of cores and of MiB", { name: "odd", cpuCount: 3, memoryMB: 129 }, ["odd"], ["default"]],
    ["the largest int32", { name: "large", cpuCount: 2147483647, memoryMB: 2147483647 }, ["large"], ["default"]],
    ["null for absent", { name: "nulls", tags: null, alias: null, teamID: null, cpuCount: null, memoryMB: null }, ["nulls"], ["default"]],
    ["members it does not know", { name: "unknown", minFreeDiskMb: 0, other: [1] }, ["unknown"], ["default"]],
  ])("takes %s", async (_what, body, names, tags) => {
    const reply = await request(body);
    expect([reply.status, reply.body.names, reply.body.aliases, reply.body.tags]).toEqual([
      202,
      names.map((name) => `default/${name}`),
      names,
      tags,
    ]);
  });

  const tooLong = "n".repeat(129);
  test.each([
    [{ name: tooLong }, "validation error: name: must have at most 128 characters"],
    [{ name: 5 }, "validation error: name: Invalid input: expected string, received number"],
    [{ name: "" }, "name: Invalid template reference ''; it is [namespace/]name[:tag]"],
    [{ name: "a b" }, "name: Invalid template reference 'a b'; it is [namespace/]name[:tag]"],
    [{ name: "a:" }, "name: Invalid template reference 'a:'; it is [namespace/]name[:tag]"],
    [{ name: ":v1" }, "name: Invalid template reference ':v1'; it is [namespace/]name[:tag]"],
    [{ name: "other/a" }, "name: the namespace 'other' is not yours"],
    [
      { name: "a:0a1b2c3d-0000-4000-8000-000000000000" },
      "name: '0a1b2c3d-0000-4000-8000-000000000000' cannot be a tag, because it looks like the id of a build",
    ],
    [{ alias: tooLong }, "validation error: alias: must have at most 128 characters"],
    [{ alias: "ä" }, "alias: Invalid template reference 'ä'; it is [namespace/]name[:tag]"],
    [{ name: "a", tags: "v1" }, "validation error: tags: Invalid input: expected array, received string"],
    [{ name: "a", tags: [1] }, "validation error: tags.0: Invalid input: expected string, received number"],
    [{ name: "a", tags: ["ok", ":v1"] }, "tags.1: ':v1' is not a tag: 1 to 128 letters, digits, '-', '_' or '.'"],
    [{ name: "a", tags: [""] }, "tags.0: '' is not a tag: 1 to 128 letters, digits, '-', '_' or '.'"],
    [{ name: "a", teamID: 5 }, "validation error: teamID: Invalid input: expected string, received number"],
    [{ name: "a", cpuCount: 0 }, "validation error: cpuCount: CPU count must be at least 1"],
    [{ name: "a", cpuCount: -1 }, "validation error: cpuCount: CPU count must be at least 1"],
    [{ name: "a", cpuCount: 1.5 }, "validation error: cpuCount: must be a whole number"],
    [{ name: "a", cpuCount: 2147483648 }, "validation error: cpuCount: is too large"],
    [{ name: "a", cpuCount: "2" }, "validation error: cpuCount: must be a whole number"],
    [{ name: "a", memoryMB: 127 }, "validation error: memoryMB: Memory in MiB must be at least 128"],
    [{ name: "a", memoryMB: 128.5 }, "validation error: memoryMB: must be a whole number"],
    [{ name: "a", memoryMB: 2147483648 }, "validation error: memoryMB: is too large"],
  ])("refuses %j and names the field", async (body, message) => {
    const reply = await request(body);
    expect([reply.status, reply.body]).toEqual([400, { code: 400, message }]);
  });

  test("needs X-API-Key", async () => {
    expect((await request({ name: "a" }, { "X-API-Key": "" })).status).toBe(401);
    expect((await request({ name: "a" }, { "X-API-Key": "e2b_0000" })).status).toBe(401);
  });

  test("refuses a name that is another template's id", async () => {
    const { body } = await request({});
    const reply = await request({ name: body.templateID });
    expect([reply.status, reply.body.message]).toEqual([409, `name: Alias '${body.templateID}' is already used`]);
  });

  test("a second request of a name is a new build of the same template, and replaces one that was not started", async () => {
    const first = (await request({ name: "twice" })).body;
    const second = (await request({ name: "twice" })).body;
    expect(second.templateID).toBe(first.templateID);
    expect(second.buildID).not.toBe(first.buildID);
    const { builds } = (await s.call("GET", `/templates/${first.templateID}`)).body;
    expect(builds.map(({ buildID, status }: { buildID: string; status: string }) => [buildID, status]).sort()).toEqual(
      [
        [first.buildID, "error"],
        [second.buildID, "waiting"],
      ].sort(),
    );
  });
});

describe("templates", () => {
  test("are listed, in pages too, with what clients demand", async () => {
    const all = await s.call("GET", "/templates?teamID=prj_1");
    const base = all.body.find(({ names }: { names: string[] }) => names[0] === "default/base");
    expect(base).toEqual({
      templateID: expect.any(String),
      buildID: expect.stringMatching(UUID),
      public: true,
      names: ["default/base"],
      aliases: ["base"],
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      lastSpawnedAt: null,
      spawnCount: 0,
      cpuCount: 2,
      memoryMB: 1024,
      diskSizeMB: 10240,
      createdBy: null,
      buildCount: 1,
      envdVersion: "0.6.13",
      buildStatus: "ready",
    });
    const ids: string[] = [];
    for (let token = ""; ; ) {
      const page = await s.call("GET", `/v2/templates?limit=3${token && `&nextToken=${token}`}`);
      ids.push(...page.body.map(({ templateID }: { templateID: string }) => templateID));
      token = page.headers.get("x-next-token") ?? "";
      if (token === "") break;
    }
    expect(ids).toEqual(all.body.map(({ templateID }: { templateID: string }) => templateID));
    const malformed = await s.call("GET", "/v2/templates?nextToken=zzz");
    expect([malformed.status, malformed.body.message]).toEqual([400, "nextToken: is not one of this listing"]);
    expect((await s.call("GET", "/default-templates")).body).toEqual([base]);
  });

  test("the next page begins after the last template of a page even if this template was deleted", async () => {
    for (const name of ["page-1", "page-2", "page-3"]) await s.call("POST", "/v3/templates", { name });
    const ids = (await s.call("GET", "/templates")).body.map(({ templateID }: { templateID: string }) => templateID);
    const first = await s.call("GET", `/v2/templates?limit=${ids.length - 1}`);
    const last = first.body.at(-1).templateID;
    expect((await s.call("DELETE", `/templates/${last}`)).status).toBe(204);
    const second = await s.call("GET", `/v2/templates?nextToken=${first.headers.get("x-next-token")}`);
    expect([second.status, second.body.map(({ templateID }: { templateID: string }) => templateID)]).toEqual([200, ids.slice(-1)]);
    for (const id of ids.slice(-3)) await s.call("DELETE", `/templates/${id}`);
  });

  test("say when their files are lost, in lists and alone, until they are built again", async () => {
    const lost = [...s.world.layers];
    s.world.layers.clear();
    const states = async () => [
      (await s.call("GET", "/templates")).body.find(({ aliases }: { aliases: string[] }) => aliases[0] === "base"),
      (await s.call("GET", "/default-templates")).body[0],
      (await s.call("GET", "/templates/base")).body,
    ];
    for (const found of await states()) expect([found.buildStatus, found.filesMissing]).toEqual(["error", true]);
    for (const [digest, layer] of lost) s.world.layers.set(digest, layer);
    for (const found of await states()) expect([found.buildStatus, "filesMissing" in found]).toEqual(["ready", false]);
  });

  test("count what is made of them, and are not deleted while it lives", async () => {
    const { sandboxID } = await s.create({ templateID: "default/base:default" });
    const found = (await s.call("GET", "/templates/base")).body;
    expect([found.spawnCount, typeof found.lastSpawnedAt, found.builds.length]).toEqual([1, "string", 1]);
    const refused = await s.call("DELETE", "/templates/base");
    expect([refused.status, refused.body.message]).toEqual([400, `The template is in use by the sandboxes ${sandboxID}; end them first`]);
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
  });

  test("are made public and private, and deleted with all of theirs", async () => {
    const { templateID, buildID } = (await request({ name: "shown" })).body;
    expect(await s.call("PATCH", `/v2/templates/${templateID}`, { public: true })).toMatchObject({
      status: 200,
      body: { names: ["default/shown"] },
    });
    expect((await s.call("GET", "/templates/aliases/shown")).body).toEqual({ templateID, public: true });
    expect((await s.call("PATCH", "/templates/shown", { public: false })).status).toBe(200);
    expect((await s.call("GET", `/templates/${templateID}`)).body).toMatchObject({ public: false, buildID, buildStatus: "waiting" });
    expect((await s.call("DELETE", `/templates/${templateID}`)).status).toBe(204);
    for (const path of [`/templates/${templateID}`, "/templates/aliases/shown", "/templates/shown/tags"]) {
      expect((await s.call("GET", path)).status).toBe(404);
    }
    expect((await s.call("DELETE", `/templates/${templateID}`)).status).toBe(404);
  });

  test("are found by a tag, and not deleted by one", async () => {
    const { buildID } = (await s.call("GET", "/templates/base")).body;
    expect((await s.call("POST", "/templates/tags", { target: "base", tags: ["kept"] })).body).toEqual({ tags: ["kept"], buildID });
    const { templateID } = (await s.call("GET", "/templates/aliases/base")).body;
    for (const [path, status] of [
      ["/templates/aliases/base:kept", 200],
      ["/templates/aliases/base:default", 200],
      ["/templates/aliases/default%2Fbase%3Akept", 200],
      ["/templates/aliases/base:absent", 404],
      ["/templates/base:kept", 200],
      ["/templates/base:absent", 404],
      ["/templates/base:kept/tags", 200],
    ] as const) {
      expect([path, (await s.call("GET", path)).status]).toEqual([path, status]);
    }
    for (const reference of ["base:kept", "base:default", `${templateID}:kept`]) {
      const refused = await s.call("DELETE", `/templates/${reference}`);
      expect([refused.status, refused.body.message]).toEqual([400, expect.stringContaining("DELETE /templates/tags")]);
    }
    expect((await s.call("DELETE", "/templates/base:absent")).status).toBe(404);
    expect((await s.call("GET", "/templates/base:kept")).body.templateID).toBe(templateID);
    expect((await s.call("DELETE", "/templates/tags", { name: "base", tags: ["kept"] })).status).toBe(204);
  });

  test("a create that is repeated with its key counts once", async () => {
    const spawned = async () => (await s.call("GET", "/templates/base")).body.spawnCount;
    const before = await spawned();
    const ids = new Set<string>();
    for (let i = 0; i < 3; i++) {
      ids.add((await s.call("POST", "/v2/sandboxes", { templateID: "base" }, { "Idempotency-Key": "counted-once" })).body.sandboxID);
    }
    expect([ids.size, await spawned()]).toEqual([1, before + 1]);
    for (const id of ids) await s.call("DELETE", `/sandboxes/${id}`);
  });

  test("without a build that is ready cannot be started", async () => {
    await request({ name: "unbuilt" });
    const reply = await s.call("POST", "/v2/sandboxes", { templateID: "unbuilt" });
    expect([reply.status, reply.body.message]).toEqual([404, "tag 'default' does not exist for template 'unbuilt'"]);
  });

  test("of other teams are neither seen nor changed, but public ones are used", async () => {
    const { store, templates } = s.server.context;
    const teamId = await store.ensureTeam("others", "Others");
    const [base] = templates.ofTeam(await store.ensureTeam("default", "")).filter(({ record }) => record.name === "base");
    const spec = base?.versions[0]?.spec;
    if (!spec) throw new Error("base has no version");
    await store.templates.put(teamId, "theirs", "default", spec, 1);
    await templates.load();
    const statuses = async () => [
      (await s.call("GET", "/templates/aliases/theirs")).status,
      (await s.call("GET", "/templates/theirs/tags")).status,
      (await s.call("DELETE", "/templates/theirs")).status,
      (await s.call("PATCH", "/v2/templates/theirs", { public: true })).status,
      (await s.call("POST", "/templates/tags", { target: "theirs", tags: ["x"] })).status,
    ];
    expect(await statuses()).toEqual([403, 403, 403, 403, 403]);
    const { sandboxID } = await s.create({ templateID: "others/theirs" });
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
    const id = templates.find(teamId, "theirs").record.id;
    await store.templates.setPublic(id, false, 2);
    await templates.load();
    expect(await statuses()).toEqual([404, 404, 404, 404, 404]);
    expect((await s.call("POST", "/v2/sandboxes", { templateID: "others/theirs" })).status).toBe(404);
  });
});

describe("tags", () => {
  const tags = async () => (await s.call("GET", "/templates/base/tags")).body.map(({ tag }: { tag: string }) => tag).sort();

  test("are assigned, moved, counted, looked up and removed", async () => {
    const { buildID } = (await s.call("GET", "/templates/base")).body;
    const assigned = await s.call("POST", "/templates/tags", { target: "base", tags: ["V1", "stable", "v1"] });
    expect([assigned.status, assigned.body]).toEqual([201, { tags: ["v1", "stable"], buildID }]);
    expect(await tags()).toEqual(["default", "stable", "v1"]);
    expect((await s.call("POST", "/templates/tags", { target: "base:v1", tags: ["stable"] })).status).toBe(201);
    expect((await s.call("GET", "/templates/base/tags/count")).body).toEqual({ total: 3 });
    expect((await s.call("GET", "/templates/base/tags/exists?tag=V1")).body).toEqual({ exists: true, normalizedTag: "v1" });
    expect((await s.call("GET", "/templates/base/tags/exists?tag=v2")).body).toEqual({ exists: false, normalizedTag: "v2" });
    const { sandboxID } = await s.create({ templateID: "base:v1" });
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
    expect((await s.call("DELETE", "/templates/tags", { name: "base", tags: ["v1", "stable"] })).status).toBe(204);
    expect(await tags()).toEqual(["default"]);
    expect((await s.call("POST", "/v2/sandboxes", { templateID: "base:v1" })).status).toBe(404);
  });

  test.each([
    ["POST", { target: "base", tags: [":v1"] }, 400, "tags.0"],
    ["POST", { target: "base", tags: ["name:"] }, 400, "tags.0"],
    ["POST", { target: "base", tags: [] }, 400, "tags"],
    ["POST", { target: "base:x:y", tags: ["a"] }, 400, "target"],
    ["POST", { tags: ["a"] }, 400, "target"],
    ["POST", { target: "base:nope", tags: ["a"] }, 404, "nope"],
    ["POST", { target: "nope", tags: ["a"] }, 404, "nope"],
    ["DELETE", { name: "base", tags: ["default"] }, 400, "default"],
    ["DELETE", { name: "base:v1", tags: ["v1"] }, 400, "name"],
    ["DELETE", { name: "base", tags: ["absent"] }, 404, "absent"],
    ["DELETE", { name: "nope", tags: ["v1"] }, 404, "nope"],
  ])("%s %j is %d", async (method, body, status, word) => {
    const reply = await s.call(method, "/templates/tags", body);
    expect([reply.status, reply.body.code]).toEqual([status, status]);
    expect(reply.body.message).toContain(word);
  });
});
