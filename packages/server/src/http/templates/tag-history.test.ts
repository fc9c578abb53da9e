import { afterAll, beforeAll, expect, test } from "bun:test";
import { BuildBench } from "../../testing/build-bench.ts";
import { TestServer } from "../../testing/test-server.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
let s: TestServer;
let builds: string[];
beforeAll(async () => {
  s = await TestServer.start();
  const bench = new BuildBench(s);
  builds = [];
  for (const text of ["one", "two", "three"])
    builds.push((await bench.build("app", { steps: [{ type: "RUN", args: [text] }] })).of.buildID);
  await s.call("POST", "/templates/tags", { target: "app", tags: ["v1", "v2"] });
});
afterAll(() => s[Symbol.asyncDispose]());

const groups = async (query = "") => (await s.call("GET", `/templates/app/tags/groups${query}`)).body;
const names = async (query: string) => (await groups(query)).tags.map(({ tag }: { tag: string }) => tag);

test("groups show each tag with its newest assignments", async () => {
  const { tags, nextCursor } = await groups("?assignmentLimit=2&sort=name_asc");
  expect(nextCursor).toBeNull();
  expect(
    tags.map((group: { tag: string; hasMore: boolean; assignments: unknown[] }) => [group.tag, group.hasMore, group.assignments.length]),
  ).toEqual([
    ["default", true, 2],
    ["v1", false, 1],
    ["v2", false, 1],
  ]);
  const [newest] = tags[0].assignments;
  expect(newest).toEqual({
    assignmentId: expect.stringMatching(UUID),
    buildId: builds[2] ?? "",
    assignedAt: expect.stringMatching(/Z$/),
    buildCreatedAt: expect.stringMatching(/Z$/),
    buildFinishedAt: expect.stringMatching(/Z$/),
  });
});

test("groups are sorted, searched and given in pages", async () => {
  expect(await names("?sort=name_desc")).toEqual(["v2", "v1", "default"]);
  expect((await names("")).at(-1)).toBe("default");
  expect((await names("?sort=latest_asc"))[0]).toBe("default");
  expect(await names("?search=V&sort=name_asc")).toEqual(["v1", "v2"]);
  const first = await groups("?tagsLimit=2&sort=name_asc");
  const second = await groups(`?tagsLimit=2&sort=name_asc&tagsCursor=${first.nextCursor}`);
  expect([...first.tags, ...second.tags].map(({ tag }) => tag)).toEqual(["default", "v1", "v2"]);
  expect(second.nextCursor).toBeNull();
});

test("a cursor is valid only in the order that it was made for", async () => {
  const { nextCursor } = await groups("?tagsLimit=1&sort=name_asc");
  const reply = await s.call("GET", `/templates/app/tags/groups?sort=name_desc&tagsCursor=${nextCursor}`);
  expect([reply.status, reply.body.message]).toEqual([400, expect.stringContaining("tagsCursor")]);
});

test("the next page of groups begins after the last tag of a page even if this tag was removed", async () => {
  await s.call("POST", "/templates/tags", { target: "app", tags: ["u1", "u2"] });
  const first = await groups("?tagsLimit=3&sort=name_desc");
  expect(first.tags.at(-1).tag).toBe("u2");
  await s.call("DELETE", "/templates/tags", { name: "app", tags: ["u2"] });
  expect(await names(`?sort=name_desc&tagsCursor=${first.nextCursor}`)).toEqual(["u1", "default"]);
  await s.call("DELETE", "/templates/tags", { name: "app", tags: ["u1"] });
});

test("a tag's assignments come newest first, in pages, each with an id that stays", async () => {
  const seen: { assignmentId: string; buildId: string }[] = [];
  for (let cursor = ""; ; ) {
    const { status, body } = await s.call("GET", `/templates/app/tags/Default/assignments?limit=2${cursor && `&cursor=${cursor}`}`);
    expect(status).toBe(200);
    seen.push(...body.data);
    cursor = body.nextCursor ?? "";
    if (cursor === "") break;
  }
  expect(seen.map(({ buildId }) => buildId)).toEqual([...builds].reverse());
  expect(new Set(seen.map(({ assignmentId }) => assignmentId)).size).toBe(3);
  expect((await groups("?search=default")).tags[0].assignments.map(({ assignmentId }: { assignmentId: string }) => assignmentId)).toEqual(
    seen.map(({ assignmentId }) => assignmentId),
  );
});

test("builds that are not ready, and tags that were removed, do not count", async () => {
  await s.call("POST", "/v3/templates", { name: "app", tags: ["waiting"] });
  await s.call("DELETE", "/templates/tags", { name: "app", tags: ["v2"] });
  expect(await names("?sort=name_asc")).toEqual(["default", "v1"]);
  for (const tag of ["waiting", "v2"]) expect((await s.call("GET", `/templates/app/tags/${tag}/assignments`)).status).toBe(404);
});

test.each([
  ["groups?tagsLimit=0", 400, "tagsLimit"],
  ["groups?tagsLimit=101", 400, "tagsLimit"],
  ["groups?assignmentLimit=x", 400, "assignmentLimit"],
  ["groups?sort=size", 400, "sort"],
  ["groups?tagsCursor=zzz", 400, "tagsCursor"],
  ["default/assignments?limit=0", 400, "limit"],
  ["default/assignments?cursor=zzz", 400, "cursor"],
  ["a%20b/assignments", 400, "tag"],
])("%s is %d and names the field", async (path, status, field) => {
  const reply = await s.call("GET", `/templates/app/tags/${path}`);
  expect([reply.status, reply.body.message]).toEqual([status, expect.stringContaining(field)]);
});

test("templates of others are not shown", async () => {
  expect((await s.call("GET", "/templates/nope/tags/groups")).status).toBe(404);
  expect((await s.call("GET", "/templates/nope/tags/default/assignments")).status).toBe(404);
});

test("`default` moves back to an older build, and a bare name means that one then", async () => {
  const bench = new BuildBench(s);
  const [older, newer] = [await bench.build("back:good", { steps: [{ type: "ENV", args: ["N", "1"] }] }), await bench.build("back")];
  const meant = () => s.server.context.templates.resolve(s.server.context.templates.find("" as never, "base").record.teamId, "back");
  expect(meant().buildId).toBe(newer.of.buildID);
  const moved = await s.call("POST", "/templates/tags", { target: "back:good", tags: ["default"] });
  expect([moved.status, moved.body]).toEqual([201, { tags: ["default"], buildID: older.of.buildID }]);
  expect([meant().buildId, meant().spec.env.N]).toEqual([older.of.buildID, "1"]);
  expect((await s.call("GET", "/templates/back")).body.buildID).toBe(older.of.buildID);
});

test("a build's id stands in a tag's place: for a create, another tag and a template of it; also when no tag points to it any more", async () => {
  const bench = new BuildBench(s);
  const good = (await bench.build("rolled", { steps: [{ type: "ENV", args: ["N", "1"] }] })).of;
  await s.call("POST", "/templates/tags", { target: "rolled", tags: ["kept"] });
  const newer = (await bench.build("rolled", { steps: [{ type: "ENV", args: ["N", "2"] }] })).of;
  const sandbox = await s.create({ templateID: `rolled:${good.buildID.toUpperCase()}` });
  expect((await s.call("GET", `/sandboxes/${sandbox.sandboxID}`)).body.templateID).toBe(good.templateID);
  expect(await bench.build("of-rolled", { fromImage: undefined, fromTemplate: `rolled:${good.buildID}` })).toMatchObject({
    status: "ready",
  });

  const moved = await s.call("POST", "/templates/tags", { target: `rolled:${good.buildID}`, tags: ["default"] });
  expect([moved.status, moved.body]).toEqual([201, { tags: ["default"], buildID: good.buildID }]);
  const untagged = await s.create({ templateID: `rolled:${newer.buildID}` });
  expect(s.world.sandboxes.get(untagged.sandboxID)?.spec.image.layers).not.toEqual(
    s.world.sandboxes.get(sandbox.sandboxID)?.spec.image.layers,
  );
  expect(await bench.build("of-untagged", { fromImage: undefined, fromTemplate: `rolled:${newer.buildID}` })).toMatchObject({
    status: "ready",
  });
  expect((await s.call("GET", `/templates/aliases/rolled:${newer.buildID}`)).status).toBe(200);
  // Used again just now, so it outlives what was used before that.
  const { store, builds } = s.server.context;
  await store.templates.pruneCached(Date.now() - 60_000);
  await builds.collect();
  const again = await s.call("POST", "/templates/tags", { target: `rolled:${newer.buildID}`, tags: ["again"] });
  expect([again.status, again.body]).toEqual([201, { tags: ["again"], buildID: newer.buildID }]);
  expect((await s.call("DELETE", "/templates/tags", { name: "rolled", tags: ["again"] })).status).toBe(204);
  await store.templates.pruneCached(Number.MAX_SAFE_INTEGER);
  await builds.collect();
  const gone = await s.call("POST", "/v2/sandboxes", { templateID: `rolled:${newer.buildID}` });
  expect([gone.status, gone.body.message]).toEqual([404, expect.stringContaining(`has no build '${newer.buildID}' to start from`)]);
  expect((await s.call("POST", "/v2/sandboxes", { templateID: `app:${good.buildID}` })).status).toBe(404);
});
