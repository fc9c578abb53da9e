import { expect, test } from "bun:test";
import { boot, codeOf, failure, never, type Subject, TIMEOUT_MS } from "../subject.ts";

/** Proves what `relabel` promises. */
export function relabelTests(subject: Subject): void {
  test(
    "replaces the labels of a running sandbox, repeatably, and a new driver finds the new ones",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject(), { ...subject().spec(), labels: { pool: "yes", kept: "no" } });
      if (driver.capabilities.relabel === "none") {
        expect(await codeOf(driver.relabel(handle, {}))).toBe("unimplemented");
        return;
      }
      const before = await driver.keptSpec(handle);
      for (const _ of [1, 2]) await driver.relabel(handle, { team: "t" });
      expect((await driver.inspect(handle)).labels).toEqual({ team: "t" });
      await subject().reopen();
      expect((await subject().driver.recover(handle)).labels).toEqual({ team: "t" });
      expect(await subject().driver.keptSpec(handle)).toEqual({ ...before, labels: { team: "t" } });
    },
    TIMEOUT_MS,
  );

  test(
    "refuses labels that are too long, and a sandbox that does not run",
    async () => {
      const { driver } = subject();
      if (driver.capabilities.relabel === "none") return;
      const handle = await boot(subject(), { ...subject().spec(), labels: { a: "b" } });
      expect(await failure(driver.relabel(handle, { big: "x".repeat(5_000) }))).toStartWith("invalid_argument");
      expect((await driver.inspect(handle)).labels).toEqual({ a: "b" });
      expect(await codeOf(driver.relabel({ ...handle, incarnation: 7 }, {}))).toBe("not_found");
      await driver.signal(handle, "SIGKILL");
      await driver.wait(handle, never);
      expect(await codeOf(driver.relabel(handle, {}))).toBe("not_found");
    },
    TIMEOUT_MS,
  );
}
