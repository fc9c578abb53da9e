import { afterEach, beforeEach, expect, test } from "bun:test";
import type { SandboxId } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { holdAt, Place } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";
import { pointsOf } from "../engine/transition.ts";
import { claim } from "../transitions/claim.ts";

/** The pool of a driver whose sandboxes and records are on other machines. */
let place: Place;
let s: TestServer;
const ON = { BOXYARD_WARM_SANDBOXES: "3", BOXYARD_WARM_MEMORY: "64G" };
beforeEach(async () => {
  place = new Place();
  place.world.isRemote = true;
  place.world.lacks.add("network");
  s = await place.boot({ env: ON });
});
afterEach(() => place[Symbol.asyncDispose]());

const waiting = (of = s) =>
  of.server.engine.sandboxes.all().flatMap(({ record, state }) => (record.owner.kind === "pool" && state === "running" ? [record.id] : []));
const labelsOf = (id: string) => place.world.sandboxes.get(id as SandboxId)?.spec.labels ?? {};

/** Makes one sandbox, and waits until another one waits, which it returns. */
async function warmedUp(): Promise<SandboxId> {
  await s.create();
  await eventually("a sandbox waits", () => s.server.warm.size > 0);
  return waiting()[0] as SandboxId;
}

test("a claim does not wait for the driver's records, and the labels follow when those can be written again", async () => {
  const member = await warmedUp();
  for (let failures = 0; failures < 2; failures++) place.world.faults.add("relabel", { kind: "fail" });
  const { sandboxID } = await s.create();
  expect(sandboxID).toBe(member as string);
  await eventually("the labels have followed", () => labelsOf(member).team === s.server.firstKey.teamId, { withinMs: 20_000 });
  expect(labelsOf(member).pool).toBeUndefined();
  expect(await s.server.context.store.getSandbox(member)).toMatchObject({ owner: { kind: "user" }, settings: { metadata: {} } });
  expect((await s.server.context.store.getSandbox(member))?.settings.isHandedOut).toBeUndefined();
}, 30_000);

test("what a sandbox has used counts once, also when it was measured before the CPU time of its wait is known", async () => {
  const member = await warmedUp();
  const { driver } = s.server.engine.sandboxes.find(member) ?? {};
  const use = place.world.sandboxes.get(member)?.use;
  if (!driver || !use) throw new Error("no sandbox");
  const waited = Promise.withResolvers<ReadonlyMap<SandboxId, number>>();
  driver.cpuTimes = () => waited.promise;
  expect((await s.create()).sandboxID).toBe(member as string);
  Object.assign(use, { cpuUsageUsec: 10_000_000 });
  const usage = async () => (await s.call("GET", "/usage")).body.total.cpuSeconds;
  const before = await usage();
  await s.server.meters.measure(s.server.engine.sandboxes.find(member) as never, false);
  await s.server.metricWriter.flush();
  waited.resolve(new Map([[member, 4_000_000]]));
  await s.call("DELETE", `/sandboxes/${member}`);
  expect((await usage()) - before).toBe(10);
});

test("a server that died before the labels followed leaves them to the next one", async () => {
  const member = await warmedUp();
  place.world.faults.add("relabel", { kind: "hang" });
  await s.create();
  await place.crash(s);
  s = await place.boot({ env: ON });
  expect((await s.call("GET", `/sandboxes/${member}`)).body.state).toBe("running");
  expect([labelsOf(member).pool, labelsOf(member).team]).toEqual([undefined, s.server.firstKey.teamId]);
});

const POINTS = pointsOf(claim).flatMap((point) => (["before", "after"] as const).map((when) => [when, point] as const));

test.each(POINTS)(
  "a claim whose server dies %s '%s' is undone or done by the next, and nobody else gets the sandbox",
  async (when, point) => {
    await place.crash(s);
    const { observer, reached } = holdAt(point, when);
    s = await place.boot({ env: ON, observer });
    const member = await warmedUp();
    void s.create({ envVars: { SECRET: "of this user" } }).catch(() => {});
    await reached;
    const isTold = point === "claim result" && when === "after";
    const isUntouched = point === "claim intent" && when === "before";
    await place.crash(s);
    s = await place.boot({ env: ON });
    await s.server.adoption.removals;
    expect([place.world.sandboxes.has(member), (await s.call("GET", `/sandboxes/${member}`)).status]).toEqual([
      isTold || isUntouched,
      isTold ? 200 : 404,
    ]);
    expect((await s.create()).sandboxID === member).toBe(isUntouched);
  },
);

test("a member counts with all the memory that is set aside for it, also after a restart", async () => {
  await place.crash(s);
  s = await place.boot({ env: { ...ON, BOXYARD_WARM_MEMORY: "1500M" } });
  for (let made = 0; made < 3; made++) await s.create();
  const { memoryBytes } = [...place.world.sandboxes.values()][0]?.spec.resources ?? { memoryBytes: 0 };
  const most = Math.floor((1500 * 2 ** 20) / memoryBytes);
  await eventually("as many wait as the memory suffices for", () => s.server.warm.size === Math.min(3, most));
  await place.crash(s);
  s = await place.boot({ env: { ...ON, BOXYARD_WARM_MEMORY: `${memoryBytes / 2 ** 20}M` } });
  await eventually("one stays", () => waiting().length === 1, { withinMs: 20_000 });
}, 30_000);

test("where the network is fixed, creates without the internet are a kind of their own, and those with lists find none", async () => {
  const member = await warmedUp();
  const closed = (await s.create({ allow_internet_access: false })).sandboxID;
  const listed = (await s.create({ network: { denyOut: ["9.9.9.9"] } })).sandboxID;
  expect([closed, listed]).not.toContain(member as string);
  await eventually("one without the internet waits", () =>
    waiting().some((id) => place.world.sandboxes.get(id)?.network.internetAccess === false),
  );
  const again = (await s.create({ allow_internet_access: false })).sandboxID;
  expect(place.world.sandboxes.get(again as SandboxId)?.network).toEqual({ internetAccess: false });
  expect(s.server.warm.claims).toBe(1);
});

test("members are made while creates are worked on", async () => {
  await place.crash(s);
  const held = Promise.withResolvers<void>();
  let holds = false;
  const before = (point: string) => (holds && point === "create startCommand" ? held.promise : undefined);
  s = await place.boot({ env: ON, observer: { before } });
  const member = await warmedUp();
  holds = true;
  const slow = s.create({ name: "slow" });
  expect((await s.create()).sandboxID).toBe(member as string);
  await eventually("another one waits", () => s.server.warm.size > 0);
  held.resolve();
  await slow;
});
