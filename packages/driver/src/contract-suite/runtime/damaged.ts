import { expect, test } from "bun:test";
import { boot, failure, health, listed, never, type Subject, TIMEOUT_MS } from "../subject.ts";

const DAMAGED = "data_loss state_damaged";

/** Tests of a sandbox whose stored state is damaged. */
export function damagedTests(subject: Subject): void {
  test(
    "is listed, not taken for a lost one, changed by no call, and works as before after a repair",
    async () => {
      const spec = subject().spec();
      const handle = await boot(subject(), spec);
      const other = await boot(subject());
      const address = await subject().driver.address(handle);
      await subject().damage({ sandbox: handle });
      await subject().reopen();
      const { driver } = subject();
      expect((await listed(driver)).sort()).toEqual([handle.sandboxId, other.sandboxId].sort());
      for (const incarnation of [1, 2]) {
        const any = { ...handle, incarnation };
        const calls: readonly (readonly [string, Promise<unknown>])[] = Object.entries({
          inspect: driver.inspect(any),
          recover: driver.recover(any),
          stats: driver.stats(any),
          address: driver.address(any),
          keptSpec: driver.keptSpec(any),
          start: driver.start(any, never),
          signal: driver.signal(any, "SIGKILL"),
          ...(driver.capabilities.relabel !== "none" && { relabel: driver.relabel(any, {}) }),
          wait: driver.wait(any, never),
          ...(driver.capabilities.network && { setNetwork: driver.setNetwork(any, { internetAccess: false }) }),
          ...(driver.capabilities.checkpoint !== "none" && {
            pause: driver.pause(any, { memory: false }, never),
            resume: driver.resume({ ...spec, incarnation: 3 }, { memory: false }, never),
            revert: driver.revert(any.sandboxId),
          }),
          ...(driver.capabilities.snapshots && { capture: driver.snapshots.capture(any, { id: "s", memory: false }, never) }),
        });
        const failures = await Promise.all(calls.map(async ([name, call]) => [name, await failure(call)]));
        expect(failures).toEqual(calls.map(([name]) => [name, DAMAGED]));
      }
      expect(await failure(driver.create(spec, never))).toBe("already_exists sandbox_exists");
      expect((await driver.recover(other)).phase).toBe("running");
      expect(await health(address)).toBe(204);
      await subject().mend();
      expect((await driver.recover(handle)).phase).toBe("running");
      expect(await driver.address(handle)).toEqual(address);
      expect(await health(address)).toBe(204);
    },
    TIMEOUT_MS,
  );

  test(
    "is frozen and destroyed",
    async () => {
      const handle = await boot(subject());
      const address = await subject().driver.address(handle);
      await subject().damage({ sandbox: handle });
      const { driver } = subject();
      if (driver.capabilities.freeze) {
        await driver.freeze(handle);
        expect(await health(address, 300)).toBeUndefined();
      }
      const [left] = await driver.list();
      if (!left) throw new Error("nothing is listed");
      await driver.destroy(left);
      expect(await listed(driver)).toEqual([]);
      expect(await failure(driver.inspect(handle))).toBe("not_found sandbox_not_found");
      expect(await health(address, 300)).toBeUndefined();
    },
    TIMEOUT_MS,
  );
}
