import { describe, expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type SandboxId, systemClock } from "@boxyard/core";
import { orphanCheck } from "../../overview/orphan-check.ts";
import { Place } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";

const ORPHAN = "i00000000000000000001";

function loseStore({ config: { dataDir } }: TestServer): void {
  for (const name of readdirSync(dataDir)) if (name.startsWith("boxyard.db")) rmSync(join(dataDir, name));
}

/** Adds a running sandbox that no store has ever known. */
function addOrphan({ world }: Place, like: string): void {
  const spec = world.sandboxes.get(like)?.spec;
  if (!spec) throw new Error("no sandbox");
  world.boot(world.make({ ...spec, sandboxId: ORPHAN as SandboxId }, "fake"));
}

/** A clock that is `ms` ahead of the system's. */
const later = (ms: number) => ({
  ...systemClock,
  now: () => systemClock.now() + ms,
  monotonic: () => systemClock.monotonic(),
  sleep: systemClock.sleep.bind(systemClock),
});

const health = async (s: TestServer, id: string, token = "") =>
  (await fetch(`${s.url}/health`, { headers: { "E2b-Sandbox-Id": id, "E2b-Sandbox-Port": "49983", "X-Access-Token": token } })).status;

describe("a store that knows none of the living sandboxes", () => {
  test("is refused at the start; --adopt-orphans makes the records of running and paused sandboxes again", async () => {
    await using place = await new Place();
    const first = await place.boot();
    const made = await Promise.all(
      Array.from({ length: 9 }, (_, n) => first.create({ timeout: 7200, metadata: { n: String(n) }, envVars: { A: "1" } })),
    );
    const ids = made.map(({ sandboxID }) => sandboxID).sort();
    const paused = ids[0] as string;
    expect((await first.call("POST", `/sandboxes/${paused}/pause`)).status).toBe(204);
    await place.crash(first);
    loseStore(first);

    await expect(place.boot()).rejects.toMatchObject({ reason: "store_mismatch" });
    expect(place.world.sandboxes.size).toBe(9);
    expect(place.world.faults.calls).not.toContain("freeze");

    const second = await place.boot({ orphans: "adopt" });
    expect(second.server.adoption).toMatchObject({ adopted: 9, removed: 0, quarantined: 0 });
    const listed = (await second.call("GET", "/v2/sandboxes?state=running,paused")).body as { sandboxID: string; state: string }[];
    expect(listed.map(({ sandboxID }) => sandboxID).sort()).toEqual(ids);
    expect(listed.find(({ sandboxID }) => sandboxID === paused)?.state).toBe("paused");
    const running = ids[1] as string;
    const detail = (await second.call("GET", `/sandboxes/${running}`)).body;
    expect(detail).toMatchObject({ templateID: expect.any(String), alias: "base", metadata: {}, cpuCount: 2 });
    // The whole timeout of its create: the time that was left is not known.
    expect(Date.parse(detail.endAt) - systemClock.now()).toBeGreaterThan(7_100_000);
    const access = (await second.call("POST", `/v2/sandboxes/${running}/connect`)).body;
    expect(await health(second, running)).toBe(204);
    // The agent got its new token, and keeps its environment.
    const inits = place.world.sandboxes.get(running)?.agent?.inits;
    expect(inits).toHaveLength(2);
    expect(inits?.[1]).toMatchObject({ accessToken: access.envdAccessToken, defaultUser: "user" });
    expect(inits?.[1]).not.toHaveProperty("envVars");
    expect((await second.call("POST", `/v2/sandboxes/${paused}/connect`)).status).toBe(201);
    expect(await health(second, paused)).toBe(204);
    await place.crash(second);

    // From now on the store has them as all others.
    const third = await place.boot();
    expect(third.server.adoption).toMatchObject({ adopted: 9, removed: 0, quarantined: 0 });
  });

  test("--remove-orphans ends the sandboxes", async () => {
    await using place = await new Place();
    const first = await place.boot();
    for (let n = 0; n < 3; n++) await first.create();
    await place.crash(first);
    loseStore(first);
    rmSync(join(first.config.dataDir, "store-id"));
    await expect(place.boot()).rejects.toMatchObject({ reason: "store_mismatch" });
    const second = await place.boot({ orphans: "remove" });
    await second.server.adoption.removals;
    expect(place.world.sandboxes.size).toBe(0);
  });

  test("ports of an adopted sandbox ask for the token as before", async () => {
    await using place = await new Place();
    const first = await place.boot();
    const { sandboxID } = await first.create({ network: { allowPublicTraffic: false } });
    const { sandboxID: open } = await first.create();
    await place.crash(first);
    loseStore(first);
    const second = await place.boot({ orphans: "adopt" });
    const traffic = async (id: string) =>
      (await fetch(`${second.url}/x`, { headers: { "E2b-Sandbox-Id": id, "E2b-Sandbox-Port": "49983" } })).status;
    expect(second.server.routes.find(sandboxID)?.trafficToken).toEqual(expect.any(String));
    expect(second.server.routes.find(open)?.trafficToken).toBeUndefined();
    expect(await traffic(open)).not.toBe(403);
  });
});

test("after the loss of node-id all sandboxes are adopted", async () => {
  await using place = await new Place();
  const first = await place.boot();
  for (let n = 0; n < 3; n++) await first.create();
  await place.crash(first);
  rmSync(join(first.config.dataDir, "node-id"));
  const second = await place.boot();
  expect(second.server.adoption).toMatchObject({ adopted: 3, removed: 0, quarantined: 0 });
});

describe("a single sandbox that the store does not know", () => {
  test("is frozen, shown by doctor, kept for the time of the setting over a restart, and then removed", async () => {
    await using place = await new Place();
    const first = await place.boot();
    const { sandboxID } = await first.create();
    await place.crash(first);
    addOrphan(place, sandboxID);
    const second = await place.boot();
    expect(second.server.adoption).toMatchObject({ adopted: 1, removed: 0, quarantined: 1 });
    expect(place.world.sandboxes.get(ORPHAN)?.frozen).toBe(true);
    expect(place.world.sandboxes.get(sandboxID)?.frozen).toBe(false);
    const { dataDir } = second.config;
    const found = systemClock.now();
    expect(orphanCheck({ dataDir, orphanMinutes: 60 }, found)).toMatchObject({
      status: "warn",
      found: expect.stringContaining(`${ORPHAN} (removed in 60 min)`),
      fix: expect.stringContaining("--adopt-orphans"),
    });
    for (let round = 0; round < 3; round++) await second.server.sweep.once();
    expect(place.world.sandboxes.has(ORPHAN)).toBe(true);
    await place.crash(second);

    const third = await place.boot({ clock: later(59 * 60_000) });
    expect(third.server.adoption).toMatchObject({ quarantined: 1 });
    expect(place.world.sandboxes.has(ORPHAN)).toBe(true);
    await place.crash(third);
    const fourth = await place.boot({ clock: later(61 * 60_000) });
    await fourth.server.sweep.once();
    expect(place.world.sandboxes.has(ORPHAN)).toBe(false);
    await fourth.server.sweep.once();
    expect(orphanCheck({ dataDir, orphanMinutes: 60 }, found)).toMatchObject({ status: "ok" });
  });

  test("that appears while the server runs is put in quarantine too, and adopted by the next when it is told so", async () => {
    await using place = await new Place();
    const first = await place.boot();
    const { sandboxID } = await first.create();
    addOrphan(place, sandboxID);
    await first.server.sweep.once();
    expect(place.world.sandboxes.get(ORPHAN)?.frozen).toBe(false);
    await first.server.sweep.once();
    expect(place.world.sandboxes.get(ORPHAN)?.frozen).toBe(true);
    await place.crash(first);
    const second = await place.boot({ orphans: "adopt" });
    expect(second.server.adoption).toMatchObject({ adopted: 2, quarantined: 0 });
    expect(place.world.sandboxes.get(ORPHAN)?.frozen).toBe(false);
    expect(await health(second, ORPHAN)).toBe(204);
    expect(orphanCheck({ dataDir: second.config.dataDir, orphanMinutes: 60 }, 0)).toMatchObject({ status: "ok" });
  });

  test("but whose end the store knows is removed", async () => {
    await using place = await new Place();
    const first = await place.boot();
    const [ended, kept] = [await first.create(), await first.create()];
    const spec = place.world.sandboxes.get(ended.sandboxID)?.spec;
    if (!spec) throw new Error("no sandbox");
    await first.call("DELETE", `/sandboxes/${ended.sandboxID}`);
    await place.crash(first);
    place.world.make(spec, "fake");
    const second = await place.boot();
    await second.server.adoption.removals;
    expect([...place.world.sandboxes.keys()]).toEqual([kept.sandboxID]);
  });
});

describe("a sandbox whose record the driver cannot read", () => {
  test("is put in quarantine, and goes on when its record is readable again; the others go on at once", async () => {
    await using place = await new Place();
    const first = await place.boot();
    const [bad, other] = [await first.create(), await first.create()];
    // Its second incarnation, which the driver does not know when its record is damaged.
    await first.call("POST", `/sandboxes/${bad.sandboxID}/pause`);
    await first.call("POST", `/v2/sandboxes/${bad.sandboxID}/connect`);
    await place.crash(first);
    const sandbox = place.world.sandboxes.get(bad.sandboxID);
    if (!sandbox) throw new Error("no sandbox");
    sandbox.damaged = true;
    const second = await place.boot();
    expect(second.server.adoption).toMatchObject({ adopted: 1, removed: 0, quarantined: 1 });
    expect(await health(second, other.sandboxID)).toBe(204);
    expect(sandbox.frozen).toBe(true);
    const { dataDir } = second.config;
    expect(orphanCheck({ dataDir, orphanMinutes: 60 }, systemClock.now())).toMatchObject({
      found: expect.stringContaining(`damaged: ${bad.sandboxID} (removed in 60 min)`),
      fix: expect.stringContaining("sandboxes/ID back (state.json, or those of a pause)"),
    });
    for (let round = 0; round < 3; round++) await second.server.sweep.once();
    expect(place.world.sandboxes.has(bad.sandboxID)).toBe(true);
    sandbox.damaged = false;
    await second.server.sweep.once();
    expect(sandbox.frozen).toBe(false);
    expect(await health(second, bad.sandboxID)).toBe(204);
    expect(orphanCheck({ dataDir, orphanMinutes: 60 }, 0)).toMatchObject({ status: "ok" });
  });

  test("can be killed, and ends when its time in quarantine is over", async () => {
    await using place = await new Place();
    const first = await place.boot();
    const [killed, left] = [await first.create(), await first.create({ timeout: 86_000 })];
    await place.crash(first);
    for (const sandbox of place.world.sandboxes.values()) sandbox.damaged = true;
    const second = await place.boot();
    expect((await second.call("DELETE", `/sandboxes/${killed.sandboxID}`)).status).toBe(204);
    expect([...place.world.sandboxes.keys()]).toEqual([left.sandboxID]);
    await second.server.sweep.once();
    await place.crash(second);
    const third = await place.boot({ clock: later(61 * 60_000) });
    expect(place.world.sandboxes.size).toBe(0);
    for (let round = 0; round < 2; round++) await third.server.sweep.once();
    expect((await third.call("GET", `/sandboxes/${left.sandboxID}`)).status).toBe(404);
  });
});
