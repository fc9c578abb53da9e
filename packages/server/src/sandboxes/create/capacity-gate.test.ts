import { expect, test } from "bun:test";
import { AppError, FakeClock } from "@boxyard/core";
import type { Capacity, Reclaim, ResourceLimits } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { TestServer } from "../../testing/test-server.ts";
import { CapacityGate } from "./capacity-gate.ts";

const GIB = 2 ** 30;
const ROOMY: Capacity = {
  memoryLimitBytes: 8 * GIB,
  memoryFreeBytes: 8 * GIB,
  processLimit: 10_000,
  processesFree: 10_000,
  diskLimitBytes: 100 * GIB,
  diskFreeBytes: 100 * GIB,
};
const WANTED: ResourceLimits = { cpuCount: 1, memoryBytes: GIB, diskBytes: 10 * GIB, maxProcesses: 128 };

/** A gate of a machine on which `living` sandboxes exist, each with limits of 1 GiB of memory and 10 GiB of disk. */
function gateOver(capacity: Partial<Capacity>, overcommit = { memory: 2, disk: 2 }, living = 0, waitMs = 0) {
  const state = { capacity: { ...ROOMY, ...capacity }, living, reclaimable: 0, asked: 0 };
  const reclaim = ({ memoryBytes }: Reclaim) => {
    state.asked += 1;
    const givenBack = Math.min(memoryBytes, state.reclaimable);
    state.reclaimable -= givenBack;
    state.capacity = { ...state.capacity, memoryFreeBytes: state.capacity.memoryFreeBytes + givenBack };
    return givenBack > 0;
  };
  const clock = new FakeClock();
  const gate = new CapacityGate({
    driver: { capacity: async () => state.capacity, reclaim: async (wanted) => reclaim(wanted) },
    overcommit,
    promised: () => ({ memoryBytes: state.living * WANTED.memoryBytes, diskBytes: state.living * WANTED.diskBytes }),
    clock,
    waitMs,
  });
  return { gate, clock, state };
}

const made = async () => "made";
const refused = { code: "unavailable", reason: "sandbox_capacity_unavailable", details: { retryAfter: 5 } };

test("what fits is made", async () => {
  expect(await gateOver({}).gate.run(WANTED, made)).toBe("made");
});

test.each([
  ["memory", { memoryFreeBytes: GIB / 8 }, "BOXYARD_RESERVE_MEMORY"],
  ["processes", { processesFree: 10 }, "BOXYARD_RESERVE_PROCESSES"],
  ["disk", { diskFreeBytes: 0 }, "BOXYARD_RESERVE_POOL"],
])("without enough free %s a create is refused, and the setting is named", async (_what, capacity, setting) => {
  const { gate } = gateOver(capacity);
  const error = gate.run(WANTED, made);
  await expect(error).rejects.toMatchObject(refused);
  await expect(error).rejects.toThrow(setting);
});

test("a machine whose account cannot be read has no room for now; any other failure is passed on", async () => {
  const failing = (cause: Error) =>
    new CapacityGate({
      driver: { capacity: () => Promise.reject(cause), reclaim: async () => false },
      overcommit: { memory: 2, disk: 2 },
      promised: () => ({ memoryBytes: 0, diskBytes: 0 }),
      clock: new FakeClock(),
    });
  const full = Object.assign(new Error("EMFILE: too many open files, open '/proc/meminfo'"), { code: "EMFILE" });
  for (const way of ["run", "start"] as const) {
    await expect(failing(full)[way](WANTED, made)).rejects.toMatchObject({ ...refused, cause: full });
    const other = new Error("no such field");
    await expect(failing(other)[way](WANTED, made)).rejects.toBe(other);
  }
});

test("limits of all sandboxes together stay within the over-commit", async () => {
  const memory = gateOver({}, { memory: 2, disk: 100 }, 15);
  expect(await memory.gate.run(WANTED, made)).toBe("made");
  memory.state.living = 16;
  await expect(memory.gate.run(WANTED, made)).rejects.toThrow("BOXYARD_MEMORY_OVERCOMMIT");
  const disk = gateOver({}, { memory: 100, disk: 1 }, 10);
  await expect(disk.gate.run(WANTED, made)).rejects.toThrow("BOXYARD_DISK_OVERCOMMIT");
});

test("of two that come at once and would exceed the over-commit together, one is refused", async () => {
  const { gate, state } = gateOver({}, { memory: 2, disk: 100 }, 15);
  const count = async () => {
    state.living += 1;
  };
  const both = await Promise.allSettled([gate.run(WANTED, count), gate.run(WANTED, count)]);
  expect([both.map(({ status }) => status).sort(), state.living]).toEqual([["fulfilled", "rejected"], 16]);
});

test("creates in progress, and those since the driver's last account, count with what they are expected to take", async () => {
  const { gate, clock, state } = gateOver({ memoryFreeBytes: GIB / 2 });
  const underWay = Promise.withResolvers<string>();
  const first = gate.run(WANTED, () => underWay.promise);
  expect(await gate.run(WANTED, made)).toBe("made");
  // The first is in progress, the second is done, and too little is left for a third.
  await expect(gate.run(WANTED, made)).rejects.toMatchObject(refused);
  // The driver's next account includes the second.
  await clock.advance(1_000);
  state.capacity = { ...state.capacity, memoryFreeBytes: GIB / 2 };
  expect(await gate.run(WANTED, made)).toBe("made");
  underWay.resolve("late");
  expect(await first).toBe("late");
});

test("what the driver holds as a cache is released for a sandbox that would not fit, and not before", async () => {
  const { gate, state } = gateOver({ memoryFreeBytes: GIB });
  state.reclaimable = GIB;
  expect([await gate.run(WANTED, made), state.asked]).toEqual(["made", 0]);
  const { gate: full, state: now } = gateOver({ memoryFreeBytes: 0 });
  now.reclaimable = GIB / 2;
  expect([await full.start(WANTED, made), now.reclaimable]).toEqual(["made", GIB / 4]);
  // Nested: the third finds nothing left to release.
  const third = () => full.start(WANTED, made);
  await expect(full.run(WANTED, () => full.start(WANTED, third))).rejects.toMatchObject(refused);
});

test("a start that takes more at once claims it, up to the limit, as long as the driver has not counted it", async () => {
  const { gate, clock } = gateOver({ memoryFreeBytes: GIB / 2 });
  await expect(gate.start(WANTED, made, GIB)).rejects.toMatchObject(refused);
  expect(await gate.start(WANTED, made, GIB / 4)).toBe("made");
  // The claim counts until the driver's next account.
  expect(await gate.start(WANTED, made, GIB / 4)).toBe("made");
  await expect(gate.start(WANTED, made)).rejects.toMatchObject(refused);
  await clock.advance(1_000);
  expect(await gate.start(WANTED, made, GIB / 2)).toBe("made");
});

test("the API answers 503 with Retry-After, leaves nothing, and takes creates again when there is room", async () => {
  await using server = await TestServer.start();
  const { capacity } = server.world;
  server.world.capacity = { ...capacity, memoryFreeBytes: 0 };
  const reply = await server.call("POST", "/v2/sandboxes", { templateID: "base" });
  expect([reply.status, reply.headers.get("retry-after"), reply.body.error_code]).toEqual([503, "5", "sandbox_capacity_unavailable"]);
  expect(reply.body.message).toContain("BOXYARD_RESERVE_MEMORY");
  expect(server.world.sandboxes.size).toBe(0);
  server.world.capacity = capacity;
  await eventually(
    "a create is taken again",
    async () => (await server.call("POST", "/v2/sandboxes", { templateID: "base" })).status === 201,
  );
});

/** Moves the clock until `work` has ended, as its looks for room take turns of the event loop. */
async function settled<T>(work: Promise<T>, clock: FakeClock): Promise<PromiseSettledResult<T>> {
  let result: PromiseSettledResult<T> | undefined;
  void Promise.allSettled([work]).then(([end]) => {
    result = end;
  });
  await eventually("the work ends", async () => {
    await clock.advance(100);
    return result !== undefined;
  });
  return result as PromiseSettledResult<T>;
}

test("a create waits for room as long as it may, and is made when there is some", async () => {
  const { gate, clock, state } = gateOver({ memoryFreeBytes: 0 }, undefined, 0, 3_600_000);
  const result = gate.run(WANTED, made);
  await clock.advance(1000);
  state.capacity = ROOMY;
  expect(await settled(result, clock)).toEqual({ status: "fulfilled", value: "made" });
});

test("a create for which no room comes is refused, and one whose client has gone waits no longer", async () => {
  const { gate, clock, state } = gateOver({ memoryFreeBytes: 0 }, undefined, 0, 1000);
  let begun = 0;
  const begin = async () => {
    begun++;
    return "made";
  };
  const start = clock.monotonic();
  expect(await settled(gate.run(WANTED, begin), clock)).toMatchObject({ status: "rejected", reason: refused });
  expect(clock.monotonic() - start).toBeGreaterThanOrEqual(750);
  const gone = new AbortController();
  const left = gate.run(WANTED, begin, gone.signal);
  gone.abort();
  await expect(left).rejects.toBeDefined();
  expect(begun).toBe(0);
  // What fails once it has begun is not tried again.
  state.capacity = ROOMY;
  const failure = new AppError("unavailable", "x", { reason: "sandbox_capacity_unavailable" });
  const failing = () => {
    begun++;
    return Promise.reject(failure);
  };
  expect(await settled(gate.run(WANTED, failing), clock)).toEqual({ status: "rejected", reason: failure });
  expect(begun).toBe(1);
});

test("for what runs already the account of the last seconds will do, and it takes nothing of it afterwards", async () => {
  const { gate, clock, state } = gateOver({ memoryFreeBytes: GIB / 2, processesFree: 200 });
  const claimed = () => gate.run(WANTED, made, undefined, { isRunning: true });
  // More than would fit if each counted until the next account.
  for (let claims = 0; claims < 5; claims++) expect(await claimed()).toBe("made");
  state.capacity = { ...state.capacity, memoryFreeBytes: 0 };
  clock.advance(4000);
  expect(await claimed()).toBe("made");
  await expect(gate.run(WANTED, made)).rejects.toMatchObject(refused);
  await expect(claimed()).rejects.toMatchObject(refused);
});

test("nothing is released, and nobody refused, because of an account that is old", async () => {
  const { gate, clock, state } = gateOver({ memoryFreeBytes: 0, diskFreeBytes: 0 });
  const claimed = () => gate.run(WANTED, made, undefined, { isRunning: true });
  await expect(claimed()).rejects.toMatchObject(refused);
  const { asked } = state;
  state.capacity = ROOMY;
  clock.advance(600);
  expect([await claimed(), state.asked]).toEqual(["made", asked]);
});

test("what has its memory and processes already is given on a full machine, beside what is being made there", async () => {
  const { gate, state, clock } = gateOver({ memoryFreeBytes: GIB / 4, processesFree: 64 });
  const held = Promise.withResolvers<string>();
  const making = gate.run(WANTED, () => held.promise);
  await clock.advance(600);
  state.capacity = { ...state.capacity, memoryFreeBytes: 0, processesFree: 0 };
  expect(await gate.run(WANTED, made, undefined, { isRunning: true, hasRoom: true })).toBe("made");
  expect(state.asked).toBe(0);
  await expect(gate.run(WANTED, made, undefined, { isRunning: true })).rejects.toMatchObject(refused);
  held.resolve("made");
  await making;
});
