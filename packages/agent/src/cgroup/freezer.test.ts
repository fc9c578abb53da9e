import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAppError, systemClock } from "@boxyard/core";
import { Freezer } from "./freezer.ts";

// Plain files in place of the kernel's: nothing freezes by itself, so that waiting and giving up can be seen. The kernel has its turn in
// e2e/agent/freeze.root.test.ts.
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

  test("without any group of its own it says so; thawing is fine", async () => {
    const freezer = new Freezer(join(root, "none"), systemClock, NEVER);
    expect(await freezer.freeze(options).catch((error) => isAppError(error, "no_cgroup"))).toBe(true);
    await freezer.thaw();
  });

  test("hierarchy: takes in the guest's groups but those it froze itself, up to the bound, and gives back only what it took", async () => {
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

  test("a group that vanished is no reason to fail", async () => {
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
    /** Time passes, and what the timers started comes to its end. */
    const pass = async (ms: number) => {
      jest.advanceTimersByTime(ms);
      for (let turns = 0; turns < 20; turns++) await Promise.resolve();
    };

    test("a freeze that nobody ends is ended, and not before its time", async () => {
      await frozen();
      await pass(999);
      expect(stateOf("user")).toBe("1");
      await pass(1);
      expect(stateOf("user")).toBe("0");
    });

    test("its thaw is tried again when it failed", async () => {
      await frozen();
      // Can be read and not be written, by root either.
      const path = join(root, "user/cgroup.freeze");
      rmSync(path);
      symlinkSync("/proc/version", path);
      await pass(1_000);
      rmSync(path);
      writeFileSync(path, "1\n");
      await pass(1_000);
      expect(stateOf("user")).toBe("0");
    });

    test("a thaw, and another freeze, make an earlier one's void", async () => {
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
