import { expect, test } from "bun:test";
import { newSandboxId } from "@boxyard/core";
import { boot, codeOf, listed, never, type Subject, TIMEOUT_MS } from "../subject.ts";

/** Tests of `signal`, and of the end that `wait` reports. */
export function endTests(subject: Subject): void {
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    test(
      `${signal} ends it as killed`,
      async () => {
        const { driver } = subject();
        const handle = await boot(subject());
        const ended = driver.wait(handle, never);
        await driver.signal(handle, signal);
        expect(await ended).toEqual({ reason: "killed" });
        const status = await driver.inspect(handle);
        expect([status.phase, status.exit]).toEqual(["stopped", { reason: "killed" }]);
        expect(await driver.wait(handle, never)).toEqual({ reason: "killed" });
        expect(await codeOf(driver.signal(handle, signal))).toBe("not_found");
        expect(await listed(driver)).toEqual([handle.sandboxId]);
      },
      TIMEOUT_MS,
    );
  }

  test(
    "the sandbox ends with its agent",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject());
      const ended = driver.wait(handle, never);
      await subject().endAgent(handle);
      expect(await ended).toEqual({ reason: "agent_exited" });
      expect((await driver.inspect(handle)).exit).toEqual({ reason: "agent_exited" });
    },
    TIMEOUT_MS,
  );

  test(
    "a wait can be aborted, and others of the sandbox go on",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject());
      const abort = new AbortController();
      const [given, kept] = [driver.wait(handle, abort.signal).catch((e: unknown) => e), driver.wait(handle, never)];
      const reason = new Error("no longer interested");
      abort.abort(reason);
      expect(await given).toBe(reason);
      expect((await driver.inspect(handle)).phase).toBe("running");
      await driver.destroy(handle);
      expect(await kept).toEqual({ reason: "killed" });
    },
    TIMEOUT_MS,
  );
}

/** Tests of `destroy`. */
export function destroyTests(subject: Subject): void {
  test(
    "works from every phase, and again",
    async () => {
      const { driver } = subject();
      const created = await driver.create(subject().spec(), never);
      const running = await boot(subject());
      const frozen = await boot(subject());
      if (driver.capabilities.freeze) await driver.freeze(frozen);
      const stopped = await boot(subject());
      await driver.signal(stopped, "SIGKILL");
      for (const handle of [created, running, frozen, stopped]) {
        await driver.destroy(handle);
        await driver.destroy(handle);
        expect(await codeOf(driver.inspect(handle))).toBe("not_found");
      }
      expect(await listed(driver)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test("succeeds for an unknown sandbox", async () => {
    const { driver } = subject();
    await driver.destroy({ driver: driver.name, sandboxId: newSandboxId(), incarnation: 1 });
    expect(await listed(driver)).toEqual([]);
  });

  test(
    "called many times at once succeeds, and the id is free again",
    async () => {
      const { driver } = subject();
      const spec = subject().spec();
      const handle = await boot(subject(), spec);
      await Promise.all([driver.destroy(handle), driver.destroy(handle), driver.destroy(handle)]);
      expect((await driver.inspect(await driver.create(spec, never))).phase).toBe("created");
    },
    TIMEOUT_MS,
  );
}
