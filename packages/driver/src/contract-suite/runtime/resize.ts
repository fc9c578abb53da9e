import { expect, test } from "bun:test";
import { boot, codeOf, never, reasonOf, type Subject, TIMEOUT_MS } from "../subject.ts";

const MIB = 2 ** 20;

/** Proves what `resize` promises. */
export function resizeTests(subject: Subject): void {
  test(
    "changes the limits of a running sandbox, repeatably, up and down, also after a restart of the server",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject());
      const { resources } = await driver.keptSpec(handle);
      const larger = {
        ...resources,
        cpuCount: 1.5,
        memoryBytes: resources.memoryBytes + 64 * MIB,
        diskBytes: resources.diskBytes + (driver.capabilities.resizeDisk ? 64 * MIB : 0),
      };
      if (!driver.capabilities.resize) {
        expect(await codeOf(driver.resize(handle, larger))).toBe("unimplemented");
        return;
      }
      const limits = async () => {
        const { memoryLimitBytes, diskLimitBytes } = await subject().driver.stats(handle);
        return [memoryLimitBytes, diskLimitBytes, (await subject().driver.keptSpec(handle)).resources.cpuCount];
      };
      const limitsOf = ({ memoryBytes, diskBytes, cpuCount }: typeof resources) => [memoryBytes, diskBytes, cpuCount];
      for (const wanted of [larger, larger, resources]) {
        await driver.resize(handle, wanted);
        expect(await limits()).toEqual(limitsOf(wanted));
      }
      await driver.resize(handle, larger);
      await subject().reopen();
      await subject().driver.recover(handle);
      expect(await limits()).toEqual(limitsOf(larger));
      await subject().driver.resize(handle, resources);
      expect(await limits()).toEqual(limitsOf(resources));
    },
    TIMEOUT_MS,
  );

  test(
    "refuses what a sandbox cannot have, and leaves its limits as they were",
    async () => {
      const { driver } = subject();
      if (!driver.capabilities.resize) return;
      const handle = await boot(subject());
      const { resources } = await driver.keptSpec(handle);
      if (!driver.capabilities.resizeDisk) {
        const other = driver.resize(handle, { ...resources, diskBytes: resources.diskBytes + MIB });
        expect(await reasonOf(other)).toBe("disk_resize_unimplemented");
      }
      for (const wrong of [{ cpuCount: 0 }, { memoryBytes: 0 }, { diskBytes: -1 }, { maxProcesses: Number.NaN }]) {
        expect(await codeOf(driver.resize(handle, { ...resources, ...wrong }))).toBe("invalid_argument");
      }
      expect((await driver.keptSpec(handle)).resources).toEqual(resources);
      await driver.signal(handle, "SIGKILL");
      await driver.wait(handle, never);
      expect(await codeOf(driver.resize(handle, resources))).toBe("not_found");
      expect(await reasonOf(driver.resize({ ...handle, incarnation: 7 }, resources))).toBe("sandbox_not_found");
    },
    TIMEOUT_MS,
  );
}
