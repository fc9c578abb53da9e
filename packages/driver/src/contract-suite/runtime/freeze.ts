import { expect, test } from "bun:test";
import { boot, codeOf, health, never, type Subject, TIMEOUT_MS } from "../subject.ts";

/** Tests of `freeze` and `thaw`; without the capability, that both are refused. */
export function freezeTests(subject: Subject): void {
  test(
    "stops everything, the agent too, until the thaw; both are repeatable",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject());
      if (!driver.capabilities.freeze) {
        expect(await codeOf(driver.freeze(handle))).toBe("unimplemented");
        return;
      }
      const address = await driver.address(handle);
      await driver.freeze(handle);
      await driver.freeze(handle);
      const status = await driver.inspect(handle);
      expect([status.phase, status.frozen]).toEqual(["running", true]);
      expect(await health(address, 300)).toBeUndefined();
      await driver.thaw(handle);
      await driver.thaw(handle);
      expect((await driver.inspect(handle)).frozen).toBe(false);
      expect(await health(address)).toBe(204);
    },
    TIMEOUT_MS,
  );

  test(
    "does not keep a sandbox from being killed",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject());
      if (!driver.capabilities.freeze) {
        expect(await codeOf(driver.thaw(handle))).toBe("unimplemented");
        return;
      }
      await driver.freeze(handle);
      const ended = driver.wait(handle, never);
      await driver.signal(handle, "SIGKILL");
      expect(await ended).toEqual({ reason: "killed" });
    },
    TIMEOUT_MS,
  );
}
