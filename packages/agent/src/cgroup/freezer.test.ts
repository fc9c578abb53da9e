import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAppError, systemClock } from "@boxyard/core";
import { Freezer } from "./freezer.ts";

// Plain files take the place of the kernel's: nothing freezes by itself, so that the wait and its end can be tested.
// e2e/agent/freeze.root.test.ts uses the kernel's own.
let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "boxyard-freezer-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function group(name: string, { frozen = false, freeze = "0" } = {}): void {
  mkdirSync(join(root, name));
  writeFileSync(join(root, name, "cgroup.freeze"), `${freeze}\n`);
  writeFileSync(join(root, name, "cgroup.events"), `populated 1\nfrozen ${frozen ? 1 : 0}\n`);
}

const stateOf = (name: string) => readFileSync(join(root, name, "cgroup.freeze"), "utf8").trim();
const NEVER = 600_000;
const options = { mode: "legacy", maxWaitMs: 20, maxCgroups: 512 } as const;

describe("Freezer", () => {
  test("counts what froze and what did not, within the wait", async () => {
    group("user", { frozen: true });
    group("pty");
    expect(await new Freezer(root, systemClock, NEVER).freeze(options)).toMatchObject({
      requested: 2,
      frozen: 1,
      notFrozen: 1,
      failed: 0,
      truncated: false,
    });
    expect([stateOf("user"), stateOf("pty")]).toEqual(["1", "1"]);
  });

  test("without a cgroup freeze is an error and thaw succeeds", async () => {
    const freezer = new Freezer(join(root, "none"), systemClock, NEVER);
    expect(await freezer.freeze(options).catch((error) => isAppError(error, "no_cgroup"))).toBe(true);
    await freezer.thaw();
  });

  test("hierarchy: freezes the guest's groups except those that the guest froze, up to maxCgroups, and thaws only those", async () => {
    for (const name of ["user", "pty", "a"]) group(name, { frozen: true });
    group("b", { frozen: true, freeze: "1" });
    const freezer = new Freezer(root, systemClock, NEVER);
    for (let i = 0; i < 2; i++) {
      expect(await freezer.freeze({ ...options, mode: "hierarchy" })).toMatchObject({ requested: 3, frozen: 3, visited: 4, preFrozen: 1 });
    }
    await freezer.thaw();
    expect(["user", "pty", "a", "b"].map(stateOf)).toEqual(["0", "0", "0", "1"]);
    expect(await freezer.freeze({ ...options, mode: "hierarchy", maxCgroups: 1 })).toMatchObject({ truncated: true });
  });

  test("a group that was removed meanwhile does not make a thaw fail", async () => {
    for (const name of ["user", "pty", "a"]) group(name, { frozen: true });
    const freezer = new Freezer(root, systemClock, NEVER);
    await freezer.freeze({ ...options, mode: "hierarchy" });
    rmSync(join(root, "a"), { recursive: true });
    await freezer.thaw();
    expect(stateOf("user")).toBe("0");
  });

  describe("watchdog", () => {
    beforeEach(() => {
      jest.useFakeTimers();
    });
    afterEach(() => {
      jest.useRealTimers();
    });
    const frozen = async () => {
      group("user", { frozen: true });
      const freezer = new Freezer(root, systemClock, 1_000);
      await freezer.freeze(options);
      return freezer;
    };
    /** Advances the timers, and lets what they started finish. */
    const pass = async (ms: number) => {
      jest.advanceTimersByTime(ms);
      for (let turns = 0; turns < 20; turns++) await Promise.resolve();
    };

    test("thaws a freeze that no call ended, and not before its time", async () => {
      await frozen();
      await pass(999);
      expect(stateOf("user")).toBe("1");
      await pass(1);
      expect(stateOf("user")).toBe("0");
    });

    test("tries again when its thaw failed", async () => {
      await frozen();
      // Readable, but not writable, for root either.
      const path = join(root, "user/cgroup.freeze");
      rmSync(path);
      symlinkSync("/proc/version", path);
      await pass(1_000);
      rmSync(path);
      writeFileSync(path, "1\n");
      await pass(1_000);
      expect(stateOf("user")).toBe("0");
    });

    test("a thaw cancels it, and another freeze starts its time anew", async () => {
      const freezer = await frozen();
      await pass(900);
      await freezer.thaw();
      await freezer.freeze(options);
      await pass(900);
      expect(stateOf("user")).toBe("1");
      await freezer.thaw();
      writeFileSync(join(root, "user/cgroup.freeze"), "1\n");
      await pass(5_000);
      expect(stateOf("user")).toBe("1");
    });
  });
});
