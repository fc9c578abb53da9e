import { expect, test } from "bun:test";
import { boot, never, reasonOf, type Subject, TIMEOUT_MS } from "../../contract-subject.ts";

/** Tests of `stats`, `fingerprint` and `release`. */
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
    },
    TIMEOUT_MS,
  );

  test("release is refused while there are sandboxes", async () => {
    const { driver } = subject();
    const handle = await driver.create(subject().spec(), never);
    expect(await reasonOf(driver.release())).toBe("sandboxes_left");
    expect((await driver.inspect(handle)).phase).toBe("created");
  });

  test("says what the machine can do, one sentence each", async () => {
    const { checks } = await subject().driver.fingerprint();
    expect(checks.length).toBeGreaterThan(0);
    for (const check of checks) {
      expect([check.name, check.found].every((text) => text.length > 0)).toBe(true);
      if (check.status !== "ok") expect(check.fix).toBeTruthy();
    }
  });
}
