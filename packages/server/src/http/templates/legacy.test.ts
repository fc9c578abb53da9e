import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { BuildBench } from "../../testing/build-bench.ts";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
beforeAll(async () => {
  s = await TestServer.start();
});
afterAll(() => s[Symbol.asyncDispose]());

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const dockerfile = "FROM base";
const MEMBERS = (alias: string) => ({
  templateID: expect.stringMatching(/^[a-z0-9]{20}$/),
  buildID: expect.stringMatching(UUID),
  buildStatus: "waiting",
  public: false,
  names: [`default/${alias}`],
  aliases: [alias],
  createdAt: expect.any(String),
  updatedAt: expect.any(String),
  createdBy: null,
  lastSpawnedAt: null,
  spawnCount: 0,
  buildCount: 1,
  envdVersion: expect.any(String),
});

describe("older routes of templates (docs/contract/templates.md, Older routes)", () => {
  test("POST /templates and POST /v2/templates register a build, and show its sizes", async () => {
    const first = await s.call("POST", "/templates", {
      alias: "v1",
      dockerfile,
      cpuCount: 4,
      memoryMB: 2048,
      startCmd: "x",
      teamID: "any",
    });
    expect([first.status, first.body]).toEqual([202, { ...MEMBERS("v1"), cpuCount: 4, memoryMB: 2048, diskSizeMB: 10240 }]);
    const second = await s.call("POST", "/v2/templates", { alias: "v2" });
    expect([second.status, second.body]).toEqual([202, { ...MEMBERS("v2"), cpuCount: 2, memoryMB: 1024, diskSizeMB: 10240 }]);
    const unnamed = await s.call("POST", "/templates", { dockerfile });
    expect([unnamed.status, unnamed.body.names]).toEqual([202, []]);
  });

  test.each([
    [{ cpuCount: 0 }, "cpuCount: CPU count must be at least 1"],
    [{ cpuCount: 3 }, "cpuCount: CPU count must be 1 or an even number"],
    [{ cpuCount: 34 }, "cpuCount: CPU count must be at most 32"],
    [{ cpuCount: 1.5 }, "cpuCount: must be a whole number"],
    [{ cpuCount: "2" }, "cpuCount: must be a whole number"],
    [{ memoryMB: 127 }, "memoryMB: Memory must be at least 128 MiB"],
    [{ memoryMB: 0 }, "memoryMB: Memory must be at least 128 MiB"],
    [{ memoryMB: 1023 }, "memoryMB: Memory must be divisible by 2"],
    [{ memoryMB: 2 ** 31 }, "memoryMB: is too large"],
    [{ alias: "n".repeat(129) }, "alias: must have at most 128 characters"],
    [{ alias: 5 }, "alias: Invalid input: expected string, received number"],
  ])("each refuses %j", async (wrong, message) => {
    const { templateID } = (await s.call("POST", "/v2/templates", { alias: "checked" })).body;
    for (const path of ["/templates", "/v2/templates", `/templates/${templateID}`]) {
      const { status, body } = await s.call("POST", path, { alias: "checked", dockerfile, ...wrong });
      expect([path, status, body]).toEqual([path, 400, { code: 400, message: `validation error: ${message}` }]);
    }
  });

  test("refuse what they need and did not get, and names as the newer route does", async () => {
    expect((await s.call("POST", "/templates", { alias: "a" })).body.message).toStartWith("validation error: dockerfile: ");
    expect((await s.call("POST", "/v2/templates", {})).body.message).toStartWith("validation error: alias: ");
    expect((await s.call("POST", "/v2/templates", { alias: "a b" })).status).toBe(400);
    expect((await s.call("POST", "/v2/templates", { alias: "a" }, { "X-API-Key": "" })).status).toBe(401);
  });

  test("POST /templates/{id} registers another build of the template, which has no other name by it", async () => {
    const { templateID, buildID } = (await s.call("POST", "/templates", { dockerfile })).body;
    const again = await s.call("POST", `/templates/${templateID}`, { dockerfile, cpuCount: 1 });
    expect([again.status, again.body.templateID, again.body.cpuCount, again.body.buildCount]).toEqual([202, templateID, 1, 2]);
    expect(again.body.buildID).not.toBe(buildID);
    await s.call("POST", "/v2/templates", { alias: "kept-name" });
    expect((await s.call("POST", "/templates/kept-name", { dockerfile, alias: "kept-name" })).status).toBe(202);
    const renamed = await s.call("POST", "/templates/kept-name", { dockerfile, alias: "other" });
    expect([renamed.status, renamed.body.message]).toEqual([
      400,
      "alias: the template's name is 'kept-name', and a build does not change it",
    ]);
    expect((await s.call("POST", "/templates/no-such-template", { dockerfile })).status).toBe(404);
  });

  test("a build that one of them registered is started as any other; an image that was pushed with docker is refused, and changes nothing", async () => {
    const bench = new BuildBench(s);
    const of = (await s.call("POST", "/v2/templates", { alias: "built-from-v2" })).body;
    const pushed = await s.call("POST", `/templates/${of.templateID}/builds/${of.buildID}`);
    expect([pushed.status, pushed.body.message]).toEqual([501, expect.stringContaining("takes no images that are pushed with docker")]);
    expect((await s.call("GET", `/templates/${of.templateID}/builds/${of.buildID}/status`)).body.status).toBe("waiting");
    const start = { fromTemplate: "base", steps: [{ type: "RUN", args: ["make"] }] };
    expect((await s.call("POST", `/v2/templates/${of.templateID}/builds/${of.buildID}`, start)).status).toBe(202);
    expect((await bench.ended(of)).status).toBe("ready");
    expect((await s.call("POST", `/templates/${of.templateID}/builds/${of.buildID}`)).status).toBe(400);
    expect((await s.call("POST", `/templates/${of.templateID}/builds/${crypto.randomUUID()}`)).status).toBe(404);
    await s.create({ templateID: "built-from-v2" });
  });

  test("GET /templates/aliases/{name:tag} knows tags, and every list has the template", async () => {
    const bench = new BuildBench(s);
    await bench.build("tagged:v1", { steps: [] });
    const found = await s.call("GET", "/templates/aliases/tagged%3Av1");
    expect([found.status, found.body]).toEqual([200, { templateID: expect.any(String), public: false }]);
    expect((await s.call("GET", "/templates/aliases/default%2Ftagged%3Av1")).body).toEqual(found.body);
    expect((await s.call("GET", "/templates/aliases/tagged%3Av2")).status).toBe(404);
    expect((await s.call("GET", "/templates/aliases/nothing%3Av1")).status).toBe(404);
    expect((await s.call("GET", "/templates/aliases/a%20b")).status).toBe(400);
    const listed = await Promise.all(["/templates", "/v2/templates"].map(async (path) => (await s.call("GET", path)).body));
    const ids = listed.map((list) => list.map(({ templateID }: { templateID: string }) => templateID));
    expect(ids.map((list) => list.includes(found.body.templateID))).toEqual([true, true]);
    expect((await s.call("GET", "/default-templates")).body.map(({ names }: { names: string[] }) => names)).toEqual([["default/base"]]);
  });
});
