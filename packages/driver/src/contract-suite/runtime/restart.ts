import { expect, test } from "bun:test";
import { newSandboxId } from "@boxyard/core";
import { boot, codeOf, health, listed, never, type Subject, TIMEOUT_MS } from "../subject.ts";

/** Tests of a new driver on the machine of an earlier one. */
export function restartTests(subject: Subject): void {
  test(
    "a new driver lists, recovers and ends what an earlier one made",
    async () => {
      const spec = { ...subject().spec(), labels: { team: "t" } };
      const handle = await boot(subject(), spec);
      const address = await subject().driver.address(handle);
      const created = await subject().driver.create(subject().spec(), never);
      await subject().reopen();
      const { driver } = subject();
      expect((await listed(driver)).sort()).toEqual([handle.sandboxId, created.sandboxId].sort());
      expect(await driver.recover(handle)).toEqual({ handle, phase: "running", frozen: false, labels: { team: "t" } });
      expect((await driver.recover(created)).phase).toBe("created");
      expect(await driver.address(handle)).toEqual(address);
      expect(await health(address)).toBe(204);
      const fresh = await driver.create(subject().spec(), never);
      await driver.start(fresh, never);
      expect(await driver.address(fresh)).not.toEqual(address);
      const ended = driver.wait(handle, never);
      await driver.signal(handle, "SIGKILL");
      expect(await ended).toEqual({ reason: "killed" });
      for (const left of [handle, created, fresh]) await driver.destroy(left);
      expect(await listed(driver)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    "closing a driver ends no sandbox",
    async () => {
      const handle = await boot(subject());
      const address = await subject().driver.address(handle);
      for (let i = 0; i < 3; i++) await subject().reopen();
      expect(await health(address)).toBe(204);
      expect((await subject().driver.recover(handle)).phase).toBe("running");
    },
    TIMEOUT_MS,
  );

  test("recover of an unknown sandbox is not_found", async () => {
    await subject().reopen();
    const { driver } = subject();
    const handle = { driver: driver.name, sandboxId: newSandboxId(), incarnation: 1 };
    expect(await codeOf(driver.recover(handle))).toBe("not_found");
  });

  test(
    "an unfinished sandbox is listed, never counts as complete, and can be destroyed",
    async () => {
      const handle = await subject().leaveHalfMade();
      await subject().reopen();
      const { driver } = subject();
      expect(await listed(driver)).toEqual([handle.sandboxId]);
      const [left] = await driver.list();
      if (!left) throw new Error("nothing is listed");
      expect(await codeOf(driver.recover(left))).toBe("not_found");
      expect(await codeOf(driver.start(left, never))).toBe("not_found");
      await driver.destroy(left);
      expect(await listed(driver)).toEqual([]);
    },
    TIMEOUT_MS,
  );
}
