import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { AppError, type LivingState, type SandboxId, systemClock } from "@boxyard/core";
import type { FakeSandbox } from "@boxyard/driver/fake";
import { nodeIdOf } from "../../node-id.ts";
import { orphanCheck } from "../../overview/orphan-check.ts";
import { type SandboxChange, SqlStore } from "../../store/index.ts";
import { Place } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";

let place: Place;
let id: string;
beforeEach(() => {
  place = new Place();
});
afterEach(() => place[Symbol.asyncDispose]());

/** A server that adopts a sandbox whose earlier server died in `state`; `leave` puts the fake machine into the matching state. */
async function found(
  state: LivingState,
  leave: (sandbox: FakeSandbox) => void | Promise<void>,
  change: SandboxChange = {},
): Promise<TestServer> {
  const first = await place.boot();
  id = (await first.create()).sandboxID;
  const { dataDir } = first.config;
  await place.crash(first);
  const sandbox = place.world.sandboxes.get(id);
  if (!sandbox) throw new Error("no sandbox");
  await leave(sandbox);
  const store = await SqlStore.open({ file: join(dataDir, "boxyard.db") }, nodeIdOf(dataDir));
  await store.updateSandbox(id as SandboxId, ["running"], { ...change, state });
  await store.close();
  const second = await place.boot();
  await second.server.adoption.removals;
  return second;
}

const stored = async (s: TestServer) => {
  const record = await s.server.context.store.getSandbox(id as SandboxId);
  return [record?.state, record?.incarnation, record?.reason];
};
const health = async (s: TestServer) =>
  (await fetch(`${s.url}/health`, { headers: { "Svc-Sandbox-Id": id, "Svc-Sandbox-Port": "49983" } })).status;
const seen = async (s: TestServer) => (await s.call("GET", `/sandboxes/${id}`)).body.state;
const listed = async (s: TestServer, state: string) => (await s.call("GET", `/v2/sandboxes?state=${state}`)).body.length;

/** What a finished pause leaves on the machine: a whole image and no process. */
const pause = async (sandbox: FakeSandbox) => {
  place.world.keep(sandbox);
  await place.world.rest(sandbox);
};

test("a paused sandbox stays paused through the sweep's rounds, and can be killed", async () => {
  const s = await found("paused", pause);
  expect(s.server.adoption).toMatchObject({ adopted: 1, removed: 0 });
  for (const _ of [1, 2, 3]) await s.server.sweep.once();
  expect([await stored(s), await seen(s), await health(s)]).toEqual([["paused", 1, undefined], "paused", 502]);
  expect([await listed(s, "paused"), await listed(s, "running"), await listed(s, "running,paused")]).toEqual([1, 0, 1]);
  expect((await s.call("DELETE", `/sandboxes/${id}`)).status).toBe(204);
  expect([place.world.sandboxes.size, await stored(s)]).toEqual([0, ["dead", 1, "requested"]]);
});

test("a paused sandbox that the driver does not list stays paused too", async () => {
  const s = await found("paused", () => place.world.remove(id));
  for (const _ of [1, 2, 3]) await s.server.sweep.once();
  expect(await stored(s)).toEqual(["paused", 1, undefined]);
});

test("a pause whose image is whole is finished", async () => {
  const s = await found("pausing", (sandbox) => {
    sandbox.frozen = true;
    place.world.keep(sandbox);
  });
  expect([await stored(s), place.world.sandboxes.get(id)?.phase]).toEqual([["paused", 1, undefined], "paused"]);
});

test("a pause whose image is not whole is undone: the sandbox runs on, thawed", async () => {
  const s = await found("pausing", (sandbox) => {
    sandbox.frozen = true;
  });
  expect([await stored(s), await health(s), place.world.sandboxes.get(id)?.frozen]).toEqual([["running", 1, undefined], 204, false]);
});

test("a resume is undone: the image stays for the next try", async () => {
  const s = await found(
    "resuming",
    (sandbox) => {
      place.world.keep(sandbox);
      sandbox.handle = { ...sandbox.handle, incarnation: 2 };
    },
    { incarnation: 2 },
  );
  const { phase, handle } = place.world.sandboxes.get(id) ?? {};
  expect([await stored(s), phase, handle?.incarnation]).toEqual([["paused", 1, undefined], "paused", 1]);
  expect((await s.call("DELETE", `/sandboxes/${id}`)).status).toBe(204);
  expect(place.world.sandboxes.size).toBe(0);
});

test("a sandbox that was being snapshotted runs on", async () => {
  const s = await found("snapshotting", (sandbox) => {
    sandbox.frozen = true;
  });
  expect([await stored(s), await health(s), await seen(s)]).toEqual([["running", 1, undefined], 204, "running"]);
});

test.each(["failed", "creating"] as const)("a sandbox that was left in the state %s is removed", async (state) => {
  const s = await found(state, () => {});
  expect([(await stored(s))[0], place.world.sandboxes.size]).toEqual(["dead", 0]);
});

test("a sandbox of a build is removed: its build ended with the server", async () => {
  const s = await found("running", () => {}, { owner: { kind: "build", id: "b" } });
  expect([await stored(s), place.world.sandboxes.size]).toEqual([["dead", 1, "owner_gone"], 0]);
});

describe("a driver that cannot tell the state at first", () => {
  test.each([
    ["pausing", "generation", "running"],
    ["resuming", "revert", "paused"],
    ["snapshotting", "recover", "running"],
  ] as const)("is asked again for a sandbox that was %s", async (state, verb, after) => {
    const change = state === "resuming" ? { incarnation: 2 } : {};
    const leave = (sandbox: FakeSandbox) => {
      if (state === "resuming") place.world.keep(sandbox);
      place.world.faults.add(verb, { kind: "fail" });
    };
    const s = await found(state, leave, change);
    expect([s.server.adoption.adopted, (await stored(s))[0]]).toEqual([0, state]);
    await s.server.sweep.once();
    expect((await stored(s))[0]).toBe(after);
  });

  test("is not asked again when the sandbox is killed before", async () => {
    const s = await found("pausing", () => place.world.faults.add("generation", { kind: "fail" }));
    expect((await s.call("DELETE", `/sandboxes/${id}`)).status).toBe(204);
    await s.server.sweep.once();
    expect([place.world.sandboxes.size, (await stored(s))[0]]).toEqual([0, "dead"]);
  });
});

test.each([
  ["pausing", "generation", "running"],
  ["pausing", "revert", "paused"],
  ["resuming", "revert", "paused"],
] as const)("a sandbox that was %s is in quarantine while the driver answers data_loss to %s", async (state, verb, after) => {
  const error = new AppError("data_loss", "The state of the sandbox is damaged", { reason: "state_damaged" });
  const leave = (sandbox: FakeSandbox) => {
    if (verb === "revert") place.world.keep(sandbox);
    place.world.faults.add(verb, { kind: "fail", error, times: 2 });
  };
  const s = await found(state, leave, state === "resuming" ? { incarnation: 2 } : {});
  const quarantine = () => orphanCheck({ dataDir: s.config.dataDir, orphanMinutes: 60 }, systemClock.now()).found;
  expect([s.server.adoption.quarantined, (await stored(s))[0]]).toEqual([1, state]);
  expect(quarantine()).toContain(`damaged: ${id} (removed in`);
  await s.server.sweep.once();
  expect([quarantine().includes(id), (await stored(s))[0]]).toEqual([true, state]);
  await s.server.sweep.once();
  expect([quarantine().includes(id), (await stored(s))[0]]).toEqual([false, after]);
});
