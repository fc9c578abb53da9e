import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { AppError, type SandboxId } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { JumpClock } from "../../testing/jump-clock.ts";
import { Place } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";

let clock: JumpClock;
const MINUTE = 60_000;

let place: Place;
let s: TestServer;
let id: string;
const boot = (env: Record<string, string> = {}) => place.boot({ clock, env: { BOXYARD_PROBE_SECONDS: "0", ...env } });
beforeEach(async () => {
  clock = new JumpClock();
  place = new Place();
  s = await boot();
});
afterEach(() => place[Symbol.asyncDispose]());

const create = async (body: object = {}) => {
  id = (await s.create({ timeout: 7200, idleTimeout: 600, ...body })).sandboxID;
};
const detail = async () => (await s.call("GET", `/sandboxes/${id}`)).body;
const state = async () => (await s.call("GET", `/sandboxes/${id}`)).body?.state as string | undefined;
const sandbox = () => {
  const found = s.server.engine.sandboxes.find(id as SandboxId);
  if (!found) throw new Error("no sandbox");
  return found;
};
const route = () => {
  const found = s.server.routes.find(id);
  if (!found) throw new Error("no route");
  return found;
};
const headers = () => ({ "E2b-Sandbox-Id": id, "E2b-Sandbox-Port": "49983" });
const ask = async () =>
  (await fetch(`${s.url}/x`, { headers: { ...headers(), "X-Access-Token": (await detail()).envdAccessToken } })).status;
const fake = () => {
  const found = place.world.sandboxes.get(id);
  if (!found) throw new Error("no fake sandbox");
  return found;
};
const socket = async () => {
  const opened = new WebSocket(`${s.url.replace("http", "ws")}/x`, { headers: headers() } as never);
  await new Promise((resolve, reject) => {
    opened.onopen = resolve;
    opened.onerror = reject;
  });
  return opened;
};
/** Has the engine look at every end now: another sandbox ends in the same look. */
const runsOn = async () => {
  const { sandboxID: other } = await s.create({ timeout: 7200 });
  await s.call("POST", `/sandboxes/${other}/timeout`, { timeout: 0 });
  await eventually("the other one has ended", async () => (await s.call("GET", `/sandboxes/${other}`)).status === 404);
  expect(await state()).toBe("running");
};
const dies = () => eventually("it has ended", async () => (await state()) === undefined);
const eventOf = async (action: string) =>
  ((await s.call("GET", `/events?targetID=${id}`)).body.events as { action: string; after: Record<string, unknown> }[]).find(
    (event) => event.action === action,
  );

describe("an idle time", () => {
  test("ends a sandbox that nothing uses, with that reason in its log and its events", async () => {
    await create();
    const { idleTimeout, idleSince, idleEndAt, endAt } = await detail();
    expect([idleTimeout, Date.parse(idleEndAt) - Date.parse(idleSince)]).toEqual([600, 10 * MINUTE]);
    expect(Date.parse(endAt) - Date.parse(idleEndAt)).toBeGreaterThan(100 * MINUTE);
    expect((await s.call("GET", "/v2/sandboxes")).body[0]).toMatchObject({ idleTimeout: 600, idleSince, idleEndAt });
    clock.jump(9 * MINUTE);
    await runsOn();
    clock.jump(MINUTE);
    await dies();
    await eventually("the event says so", async () => (await eventOf("sandbox.killing"))?.after.reason === "idle");
    const lastLine = async () => (await s.call("GET", `/v2/sandboxes/${id}/logs`)).body.logs[0];
    await eventually("its log says so", async () => (await lastLine()).message === "Sandbox ended: it was idle for too long");
    expect(await lastLine()).toMatchObject({ level: "info" });
  });

  test("pauses it where the end of its time would; the time of the pause does not count, and a request wakes it", async () => {
    await create({ autoPause: true, autoResume: { enabled: true } });
    clock.jump(10 * MINUTE);
    await eventually("it is paused", async () => (await detail()).pauseMode === "full");
    expect(await detail()).toMatchObject({ state: "paused", pauseCause: "idle", idleTimeout: 600 });
    expect((await detail()).idleSince).toBeUndefined();
    clock.jump(60 * MINUTE);
    expect(await ask()).toBe(200);
    const woken = await detail();
    expect([woken.state, woken.pauseCause, Date.parse(woken.idleEndAt) - clock.now() > 9 * MINUTE]).toEqual(["running", undefined, true]);
    await s.call("POST", `/sandboxes/${id}/pause`, {});
    expect((await detail()).pauseCause).toBe("requested");
  });

  test("is over at its time at the latest, and the end of its time says so", async () => {
    await create({ timeout: 300, autoPause: true });
    expect((await detail()).idleEndAt).toBe((await detail()).endAt);
    clock.jump(5 * MINUTE);
    await eventually("it is paused", async () => (await detail()).pauseCause === "timeout");
  });

  test("that is too short, too long or no number is refused", async () => {
    for (const idleTimeout of [0, -1, 1.5, "10", 25 * 3600]) {
      expect([idleTimeout, (await s.call("POST", "/v2/sandboxes", { templateID: "base", idleTimeout })).status]).toEqual([
        idleTimeout,
        400,
      ]);
    }
  });
});

describe("use", () => {
  test("by a request through the proxy counts from its end, and a connection in flight keeps the sandbox for as long as it lasts", async () => {
    await create();
    clock.jump(9 * MINUTE);
    expect(await ask()).toBe(200);
    clock.jump(9 * MINUTE);
    const open = await socket();
    expect((await detail()).idleSince).toBeUndefined();
    clock.jump(60 * MINUTE);
    await runsOn();
    open.close();
    await eventually("the connection has ended", () => route().flights.size === 0);
    expect(Date.parse((await detail()).idleSince)).toBeGreaterThan(clock.now() - MINUTE);
    clock.jump(10 * MINUTE);
    await dies();
  });

  test("by its processors counts above the threshold", async () => {
    await create();
    await s.server.sampler.once();
    clock.jump(9 * MINUTE);
    // Six percent of one processor over nine minutes, then four.
    fake().use.cpuUsageUsec += 0.06 * 9 * MINUTE * 1000;
    await s.server.sampler.once();
    clock.jump(9 * MINUTE);
    fake().use.cpuUsageUsec += 0.04 * 9 * MINUTE * 1000;
    await s.server.sampler.once();
    expect(await state()).toBe("running");
    clock.jump(MINUTE);
    await dies();
  });

  test("by its processors since the last measurement, and by output that nobody reads, is looked for at the end", async () => {
    await create();
    await s.server.sampler.stop();
    await s.server.sampler.once();
    clock.jump(10 * MINUTE);
    fake().use.cpuUsageUsec += 10 * MINUTE * 1000;
    await eventually("it counts as used", () => route().flights.lastUse > clock.now() - MINUTE);
    const { agent } = fake();
    if (!agent) throw new Error("no agent");
    agent.outputAgeMs = 1000;
    clock.jump(10 * MINUTE);
    await eventually("it counts as used", () => route().flights.lastUse > clock.now() - MINUTE);
    agent.outputAgeMs = 11 * MINUTE;
    clock.jump(10 * MINUTE);
    await dies();
  });

  test("is also a request about its end", async () => {
    await create();
    clock.jump(9 * MINUTE);
    expect((await s.call("POST", `/v2/sandboxes/${id}/connect`, { timeout: 60 })).status).toBe(200);
    clock.jump(9 * MINUTE);
    await runsOn();
  });

  test("that begins while the end waits for its turn stops the end", async () => {
    await create();
    const released = Promise.withResolvers<void>();
    const held = sandbox().queue.run(() => released.promise);
    const open = await socket();
    clock.jump(10 * MINUTE);
    // As the engine asks for it when the idle time is over.
    const end = s.server.engine.end(sandbox(), "idle");
    released.resolve();
    await Promise.all([held, end]);
    await runsOn();
    open.close();
  });
});

describe("a change of the idle time", () => {
  const patch = (idleTimeout: unknown) => s.call("PATCH", `/sandboxes/${id}`, { idleTimeout });

  test("counts from then on, in both directions, and by name too", async () => {
    await create({ name: "web" });
    clock.jump(9 * MINUTE);
    expect(await patch(3600)).toMatchObject({ status: 200, body: { idleTimeout: 3600 } });
    clock.jump(50 * MINUTE);
    await runsOn();
    expect((await s.call("PATCH", "/sandboxes/by-name/web", { idleTimeout: 60, name: "other" })).body).toMatchObject({
      idleTimeout: 60,
      name: "other",
    });
    clock.jump(MINUTE);
    await dies();
  });

  test("to none, and for a sandbox that had none", async () => {
    await create();
    const { status, body } = await patch(0);
    expect([status, body.idleTimeout, body.idleEndAt]).toEqual([200, undefined, undefined]);
    clock.jump(60 * MINUTE);
    await runsOn();
    expect((await patch(60)).body.idleEndAt).toBeDefined();
    clock.jump(MINUTE);
    await dies();
  });

  test("is refused for what is no idle time, and says so for a sandbox of another team", async () => {
    await create();
    expect([(await patch(-1)).status, (await patch("x")).status, (await s.call("PATCH", `/sandboxes/${id}`, {})).status]).toEqual([
      400, 400, 400,
    ]);
    const other = await s.team("other");
    expect((await s.call("PATCH", `/sandboxes/${id}`, { idleTimeout: 60 }, other.headers)).status).toBe(404);
  });

  test("of a paused sandbox holds after its resume", async () => {
    await create();
    await s.call("POST", `/sandboxes/${id}/pause`, {});
    expect((await patch(60)).body).toMatchObject({ state: "paused", idleTimeout: 60 });
    await s.call("POST", `/v2/sandboxes/${id}/connect`, { timeout: 3600 });
    clock.jump(MINUTE);
    await dies();
  });
});

describe("over the life of a sandbox", () => {
  test("a copy has it too, counted from its own start", async () => {
    await create();
    clock.jump(9 * MINUTE);
    const [copy] = (await s.call("POST", `/sandboxes/${id}/fork`, { timeout: 7200 })).body;
    clock.jump(MINUTE);
    await dies();
    const { sandboxID } = copy.sandbox ?? copy;
    expect((await s.call("GET", `/sandboxes/${sandboxID}`)).body).toMatchObject({ state: "running", idleTimeout: 600 });
  });

  test("the next server counts from its start: nobody could use the sandbox before", async () => {
    await create();
    clock.jump(9 * MINUTE);
    await place.crash(s);
    clock.jump(9 * MINUTE);
    s = await boot();
    expect(await detail()).toMatchObject({ state: "running", idleTimeout: 600 });
    clock.jump(9 * MINUTE);
    await runsOn();
    clock.jump(MINUTE);
    await dies();
  });

  test("a pause that fails leaves it running, and is tried again; its time is as before", async () => {
    await create({ autoPause: true });
    const { endAt } = await detail();
    place.world.faults.add("pause", { kind: "fail", error: new AppError("unavailable", "no room", { reason: "no_room" }) });
    clock.jump(10 * MINUTE);
    await eventually("the pause has failed", () => sandbox().idleRetryAt > 0);
    await eventually("it runs", () => sandbox().state === "running");
    expect((await detail()).endAt).toBe(endAt);
    clock.jump(MINUTE);
    await eventually("it is paused", async () => (await detail()).pauseCause === "idle");
  });

  test("a sandbox that can never be paused lives on, and is tried now and then", async () => {
    await create({ autoPause: true });
    place.world.faults.add("pause", { kind: "fail", times: 1000 });
    const tries = () => place.world.faults.calls.filter((verb) => verb === "pause").length;
    const isGivenUp = () => route().flights.lastUse > clock.now() - 5 * MINUTE;
    clock.jump(10 * MINUTE);
    for (let seen = 0; !isGivenUp(); seen = tries(), clock.jump(31_000)) {
      await eventually("it is tried again, or given up", () => tries() > seen || isGivenUp());
      await eventually("it runs", () => sandbox().state === "running");
    }
    expect([tries(), await state()]).toEqual([2 + 2 * 8, "running"]);
  }, 40_000);
});
