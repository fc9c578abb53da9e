import { expect, test } from "bun:test";
import type { Capacity } from "../../runtime/types.ts";
import { boot, health, never, reasonOf, type Subject, TIMEOUT_MS } from "../subject.ts";

/** Tests of `stats`, `capacity`, `reclaim`, `fingerprint` and `release`. */
export function accountTests(subject: Subject): void {
  test(
    "counts what a running sandbox uses, within its limits",
    async () => {
      const { driver } = subject();
      const spec = subject().spec();
      const stats = await driver.stats(await boot(subject(), spec));
      expect([stats.memoryLimitBytes, stats.diskLimitBytes]).toEqual([spec.resources.memoryBytes, spec.resources.diskBytes]);
      expect(stats.memoryUsedBytes).toBeGreaterThan(0);
      expect(stats.memoryUsedBytes).toBeLessThanOrEqual(stats.memoryLimitBytes);
      expect(stats.processes).toBeGreaterThan(0);
      expect(stats.cpuUsageUsec).toBeGreaterThan(0);
      expect([stats.oomKills, stats.memoryCacheBytes >= 0, stats.diskUsedBytes >= 0]).toEqual([0, true, true]);
      expect([stats.networkReceivedBytes >= 0, stats.networkSentBytes >= 0]).toEqual([true, true]);
    },
    TIMEOUT_MS,
  );

  test(
    "tells the CPU time of several sandboxes at once, and leaves out those that are not alive",
    async () => {
      const { driver } = subject();
      const [running, gone] = [await boot(subject()), await boot(subject())];
      await driver.destroy(gone);
      const times = await driver.cpuTimes([running, gone]);
      expect([...times.keys()]).toEqual([running.sandboxId]);
      const { cpuUsageUsec } = await driver.stats(running);
      expect(times.get(running.sandboxId)).toBeGreaterThan(0);
      expect(times.get(running.sandboxId)).toBeLessThanOrEqual(cpuUsageUsec);
    },
    TIMEOUT_MS,
  );

  test(
    "the capacity says how much is free, and does not count as free what a running sandbox uses",
    async () => {
      const { driver } = subject();
      // Other programs of the machine start and end processes too, so one round of these must show it.
      const rounds: boolean[] = [];
      while (rounds.length < 5 && !rounds.includes(true)) {
        const before = await driver.capacity();
        const handle = await boot(subject());
        const during = await driver.capacity();
        await driver.destroy(handle);
        const after = await driver.capacity();
        for (const capacity of [before, during, after]) expectWithinLimits(capacity);
        rounds.push(during.processesFree < before.processesFree && during.processesFree < after.processesFree);
      }
      expect(rounds).toContain(true);
    },
    TIMEOUT_MS,
  );

  test(
    "reclaim releases the processes that a pause has left in memory, once, and the sandbox is resumed as without it",
    async () => {
      const { driver } = subject();
      const everything = { memoryBytes: Number.MAX_SAFE_INTEGER, processes: Number.MAX_SAFE_INTEGER };
      expect(await driver.reclaim(everything)).toBe(false);
      if (driver.capabilities.checkpoint !== "memory") return;
      const spec = subject().spec();
      const handle = await boot(subject(), spec);
      await driver.pause(handle, { memory: true }, never);
      // A resume needs no memory while the sandbox still has all of it.
      const isKept = (await driver.generation(spec.sandboxId))?.memoryBytes === 0;
      const before = await driver.capacity();
      expect(await driver.reclaim(everything)).toBe(isKept);
      expect((await driver.generation(spec.sandboxId))?.memoryBytes).toBeGreaterThan(0);
      if (isKept) expect((await driver.capacity()).processesFree).toBeGreaterThan(before.processesFree);
      expect(await driver.reclaim(everything)).toBe(false);
      expect((await driver.inspect(handle)).phase).toBe("paused");
      const resumed = await driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);
      expect(await health(await driver.address(resumed))).toBe(204);
    },
    TIMEOUT_MS,
  );

  test("release is refused while there are sandboxes", async () => {
    const { driver } = subject();
    const handle = await driver.create(subject().spec(), never);
    expect(await reasonOf(driver.release())).toBe("sandboxes_left");
    expect((await driver.inspect(handle)).phase).toBe("created");
  });

  test("describes each ability of the machine in one sentence", async () => {
    const { checks } = await subject().driver.fingerprint();
    expect(checks.length).toBeGreaterThan(0);
    for (const check of checks) {
      expect([check.name, check.found].every((text) => text.length > 0)).toBe(true);
      if (check.status !== "ok") expect(check.fix).toBeTruthy();
    }
  });
}

function expectWithinLimits(capacity: Capacity): void {
  const { memoryFreeBytes, memoryLimitBytes, processesFree, processLimit, diskFreeBytes, diskLimitBytes } = capacity;
  for (const [free, whole] of [
    [memoryFreeBytes, memoryLimitBytes],
    [processesFree, processLimit],
    [diskFreeBytes, diskLimitBytes],
  ] as const) {
    expect([free >= 0, free <= whole, whole > 0]).toEqual([true, true, true]);
  }
}
