import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type SandboxId, systemClock } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { holdAt, Place } from "../../testing/place.ts";
import type { TestServer, TestServerOptions } from "../../testing/test-server.ts";

let later = 0;
const clock = { ...systemClock, now: () => systemClock.now() + later };
const HOUR = 3600_000;
const MIB = 2 ** 20;

let place: Place;
let s: TestServer;
const boot = (options: TestServerOptions = {}) => place.boot({ clock, ...options });
beforeEach(async () => {
  later = 0;
  place = new Place();
  s = await boot();
});
afterEach(() => place[Symbol.asyncDispose]());

type Headers = Record<string, string>;
const rules = async (retention: object, team = "default") => {
  const { status, body } = await s.call("PATCH", `/admin/teams/${team}`, { retention });
  expect([status, body.retention]).toEqual([200, retention]);
};
const paused = async (headers: Headers = {}) => {
  const { body } = await s.call("POST", "/v2/sandboxes", { templateID: "base" }, headers);
  const id = body.sandboxID as string;
  expect((await s.call("POST", `/sandboxes/${id}/pause`, {}, headers)).status).toBe(204);
  later += 1000;
  return id;
};
const snapshot = async (of: string, name?: string) => {
  const { body } = await s.call("POST", `/sandboxes/${of}/snapshots`, { ...(name !== undefined && { name }) });
  later += 1000;
  return body.snapshotID as string;
};
const exists = async (id: string, headers: Headers = {}) => (await s.call("GET", `/sandboxes/${id}`, undefined, headers)).status === 200;
const snapshots = async () => ((await s.call("GET", "/snapshots")).body as { snapshotID: string; deleteAt?: string }[]).reverse();
const round = () => s.server.retention.once();
const eventsOf = async (id: string) =>
  ((await s.call("GET", `/events?targetID=${id}`)).body.events as { action: string; after?: Record<string, unknown> }[]).filter(
    ({ action }) => action.endsWith(".expiring"),
  );

describe("paused sandboxes", () => {
  test("are deleted by age after a warning, with the date in every answer and the reason in the log; nothing is by default", async () => {
    const id = await paused();
    later += 10_000 * HOUR;
    await round();
    expect(await exists(id)).toBe(true);
    await rules({ paused: { maxAgeHours: 10_024 }, warnHours: 24 });
    await round();
    const { deleteAt, endAt } = (await s.call("GET", `/sandboxes/${id}`)).body;
    expect(Date.parse(deleteAt)).toBeGreaterThanOrEqual(Date.parse(endAt) + 10_024 * HOUR);
    expect((await s.call("GET", "/v2/sandboxes")).body).toMatchObject([{ sandboxID: id, deleteAt }]);
    later += HOUR;
    await round();
    expect((await eventsOf(id)).map(({ action }) => action)).toEqual(["sandbox.expiring"]);
    later += 22 * HOUR;
    await round();
    expect(await exists(id)).toBe(true);
    later += 2 * HOUR;
    await round();
    expect([await exists(id), (await eventsOf(id)).length]).toEqual([false, 1]);
    const { logs } = (await s.call("GET", `/v2/sandboxes/${id}/logs`)).body;
    expect(logs).toContainEqual(expect.objectContaining({ fields: expect.objectContaining({ event: "ended", cause: "retention" }) }));
  });

  test("are deleted beyond a count, the newest are kept, and running ones neither count nor go", async () => {
    const { sandboxID: running } = await s.create();
    const [first, second, third] = [await paused(), await paused(), await paused()];
    await rules({ paused: { maxCount: 2 }, warnHours: 0 });
    await round();
    expect(await Promise.all([running, first, second, third].map((id) => exists(id)))).toEqual([true, false, true, true]);
  });

  test("are deleted beyond a size, the oldest first: disk and memory count, also those of sandboxes that an earlier server paused", async () => {
    const sized = async (diskMiB: number, body: object) => {
      const { sandboxID } = await s.create();
      const sandbox = place.world.sandboxes.get(sandboxID);
      if (!sandbox) throw new Error("the sandbox is not on the machine");
      sandbox.use.diskUsedBytes = diskMiB * MIB;
      place.world.keptMemoryBytes = 10 * MIB;
      expect((await s.call("POST", `/sandboxes/${sandboxID}/pause`, body)).status).toBe(204);
      later += 1000;
      return sandboxID;
    };
    const ids = [await sized(30, { memory: true }), await sized(40, { memory: false }), await sized(30, { memory: true })];
    const left = () => Promise.all(ids.map((id) => exists(id)));
    await rules({ paused: { maxMB: 120 }, warnHours: 0 });
    await round();
    expect(await left()).toEqual([true, true, true]);
    await place.crash(s);
    s = await boot();
    await round();
    expect(await left()).toEqual([true, true, true]);
    // One MiB less than all of them take.
    await rules({ paused: { maxMB: 119 }, warnHours: 0 });
    await round();
    expect(await left()).toEqual([false, true, true]);
    await rules({ paused: { maxMB: 79 }, warnHours: 0 });
    await round();
    expect(await left()).toEqual([false, false, true]);
  });

  test("one that is resumed after the warning stays, and is warned of anew after its next pause", async () => {
    const id = await paused();
    await rules({ paused: { maxCount: 0 }, warnHours: 5 });
    await round();
    later += 4 * HOUR;
    await s.call("POST", `/v2/sandboxes/${id}/connect`, { timeout: 24 * 3600 });
    later += 2 * HOUR;
    await round();
    expect(await exists(id)).toBe(true);
    await s.call("POST", `/sandboxes/${id}/pause`, {});
    await round();
    expect([await exists(id), (await eventsOf(id)).length]).toEqual([true, 2]);
  });

  test("of other teams stay: each team and each template has its own rules", async () => {
    const other = await s.team("other");
    const [mine, theirs] = [await paused(), await paused(other.headers)];
    await rules({ paused: { maxCount: 0 }, warnHours: 0 }, "other");
    await round();
    expect([await exists(mine), await exists(theirs, other.headers)]).toEqual([true, false]);
    await rules({ paused: { maxCount: 0 }, warnHours: 0 });
    expect((await s.call("PATCH", "/v2/templates/base", { retention: { paused: { maxCount: 1 } } })).status).toBe(200);
    await round();
    expect(await exists(mine)).toBe(true);
    expect((await s.call("PATCH", "/v2/templates/base", { retention: {} })).status).toBe(200);
    await round();
    expect(await exists(mine)).toBe(false);
    expect((await s.call("PATCH", "/admin/teams/other", { retention: {} }, other.headers)).status).toBe(403);
  });

  test("at most twenty go in one round", async () => {
    for (let i = 0; i < 22; i++) await paused();
    await rules({ paused: { maxCount: 0 }, warnHours: 0 });
    await round();
    expect((await s.call("GET", "/v2/sandboxes")).body).toHaveLength(2);
    await round();
    expect((await s.call("GET", "/v2/sandboxes")).body).toHaveLength(0);
  }, 30_000);

  test("survive the death of the server: announcements stay, and a deletion that was under way is finished", async () => {
    const id = await paused();
    await rules({ paused: { maxCount: 0 }, warnHours: 5 });
    await round();
    await place.crash(s);
    later += 6 * HOUR;
    const { observer, reached } = holdAt("kill destroy");
    s = await boot({ observer });
    void s.server.retention.once().catch(() => {});
    await reached;
    await place.crash(s);
    s = await boot();
    await eventually("it is gone", () => !place.world.sandboxes.has(id));
    expect([await exists(id), (await eventsOf(id)).length]).toEqual([false, 1]);
    await round();
  });
});

describe("snapshots", () => {
  test("go by age, count and size, but not one that a sandbox was made from", async () => {
    const { sandboxID } = await s.create();
    const ids = [await snapshot(sandboxID), await snapshot(sandboxID, "kept"), await snapshot(sandboxID), await snapshot(sandboxID)];
    const { sandboxID: user } = await s.create({ templateID: ids[0] as string });
    await rules({ snapshots: { maxCount: 2 }, warnHours: 1 });
    await round();
    const listed = await snapshots();
    expect(listed.map(({ deleteAt }) => deleteAt !== undefined)).toEqual([false, true, false, false]);
    expect(listed).toHaveLength(4);
    later += 2 * HOUR;
    await round();
    expect((await snapshots()).map(({ snapshotID }) => snapshotID)).toEqual([ids[0], ids[2], ids[3]] as string[]);
    await rules({ snapshots: { maxMB: 0 }, warnHours: 0 });
    await round();
    const left = await snapshots();
    expect(left.map(({ snapshotID }) => snapshotID)).toContain(ids[0] as string);
    await s.call("DELETE", `/sandboxes/${user}`);
    await rules({ snapshots: { maxAgeHours: 1 }, warnHours: 0 });
    later += 2 * HOUR;
    await round();
    expect(await snapshots()).toEqual([]);
    await eventually("the driver has none", () => place.world.snapshots.size === 0);
    expect(s.server.engine.sandboxes.find(sandboxID as SandboxId)?.state).toBe("running");
  });
});

describe("builds without a tag", () => {
  test("go by count after a warning, with the date in the list, but not one of which a sandbox exists", async () => {
    const { store, templates } = s.server.context;
    const { teamId, spec } = templates.resolve(s.server.firstKey.teamId, "base");
    for (const cpuCount of [1, 2, 3]) {
      await store.templates.put(teamId, "app", "v1", { ...spec, cpuCount: cpuCount + 0.5 }, clock.now());
      await templates.load();
      if (cpuCount === 1) await s.create({ templateID: "app:v1" });
      later += 1000;
    }
    const untagged = () => templates.named(teamId, "app")?.untagged.length;
    expect(untagged()).toBe(2);
    const kept = templates.named(teamId, "app")?.untagged.map(({ buildId }) => buildId) ?? [];
    const templateId = templates.named(teamId, "app")?.record.id;
    await rules({ builds: { maxCount: 0 }, warnHours: 5 });
    await round();
    const listed = (await s.call("GET", `/templates/${templateId}`)).body.builds as { buildID: string; deleteAt?: string }[];
    const dated = listed.filter(({ deleteAt }) => deleteAt !== undefined);
    expect(dated.map(({ buildID, deleteAt }) => [kept.includes(buildID), Date.parse(deleteAt ?? "") - clock.now() > 4 * HOUR])).toEqual([
      [true, true],
    ]);
    expect((await eventsOf(dated[0]?.buildID ?? "")).map(({ action }) => action)).toEqual(["build.expiring"]);
    await rules({ builds: { maxCount: 0 }, warnHours: 0 });
    await round();
    expect(untagged()).toBe(1);
    expect((await s.call("POST", "/v2/sandboxes", { templateID: "app:v1" })).status).toBe(201);
  });
});

describe("the settings of a template", () => {
  const change = (body: object) => s.call("PATCH", "/templates/base", body);

  test("limit the sizes of its sandboxes, and give them an idle time", async () => {
    expect((await change({ maxResources: { memoryMB: 2048 }, idleTimeout: 600 })).status).toBe(200);
    expect((await s.call("GET", "/templates/base")).body).toMatchObject({ maxResources: { memoryMB: 2048 }, idleTimeout: 600 });
    const refused = await s.call("POST", "/v2/sandboxes", { templateID: "base", resources: { memoryMB: 2049 } });
    expect([refused.status, refused.body.error_code]).toEqual([400, "size_too_large"]);
    expect(refused.body.message).toContain("2048 that its template allows");
    const { sandboxID } = await s.create({ resources: { memoryMB: 2048 } });
    const resized = await s.call("PATCH", `/sandboxes/${sandboxID}/resources`, { memoryMB: 4096 });
    expect([resized.status, resized.body.error_code]).toEqual([400, "size_too_large"]);
    expect((await s.call("GET", `/sandboxes/${sandboxID}`)).body.idleTimeout).toBe(600);
    expect((await s.call("GET", `/sandboxes/${(await s.create({ idleTimeout: 60 })).sandboxID}`)).body.idleTimeout).toBe(60);
    expect((await change({ maxResources: { memoryMB: 1 } })).status).toBe(400);
    // An empty one takes the limits away.
    expect((await change({ maxResources: {}, idleTimeout: 0 })).status).toBe(200);
    expect((await s.call("PATCH", `/sandboxes/${sandboxID}/resources`, { memoryMB: 4096 })).status).toBe(200);
    expect((await s.call("GET", `/sandboxes/${(await s.create()).sandboxID}`)).body.idleTimeout).toBeUndefined();
  });

  test("are the team's alone to change", async () => {
    const other = await s.team("other");
    expect((await s.call("PATCH", "/templates/base", { idleTimeout: 60 }, other.headers)).status).toBe(403);
  });
});

test("rules that make no sense are refused", async () => {
  const bad = [{ paused: { maxCount: -1 } }, { paused: { maxAgeHours: 0 } }, { warnHours: 1.5 }, { snapshots: { maxMB: "x" } }];
  for (const retention of bad) {
    expect([retention, (await s.call("PATCH", "/admin/teams/default", { retention })).status]).toEqual([retention, 400]);
  }
});
