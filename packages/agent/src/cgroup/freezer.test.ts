import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
const options = { mode: "legacy", maxWaitMs: 20, maxCgroups: 512 } as const;

describe("Freezer", () => {
  test("counts what froze and what did not, within the wait", async () => {
    group("user", { frozen: true });
    group("pty");
    expect(await new Freezer(root, systemClock).freeze(options)).toMatchObject({
      requested: 2,
      frozen: 1,
      notFrozen: 1,
      failed: 0,
      truncated: false,
    });
    expect([stateOf("user"), stateOf("pty")]).toEqual(["1", "1"]);
  });

  test("without any group of its own it says so; thawing is fine", async () => {
    const freezer = new Freezer(join(root, "none"), systemClock);
    expect(await freezer.freeze(options).catch((error) => isAppError(error, "no_cgroup"))).toBe(true);
    await freezer.thaw();
  });

  test("hierarchy: takes in the guest's groups but those it froze itself, up to the bound, and gives back only what it took", async () => {
    for (const name of ["user", "pty", "a"]) group(name, { frozen: true });
    group("b", { frozen: true, freeze: "1" });
    const freezer = new Freezer(root, systemClock);
    for (let i = 0; i < 2; i++) {
      expect(await freezer.freeze({ ...options, mode: "hierarchy" })).toMatchObject({ requested: 3, frozen: 3, visited: 4, preFrozen: 1 });
    }
    await freezer.thaw();
    expect(["user", "pty", "a", "b"].map(stateOf)).toEqual(["0", "0", "0", "1"]);
    expect(await freezer.freeze({ ...options, mode: "hierarchy", maxCgroups: 1 })).toMatchObject({ truncated: true });
  });

  test("a group that vanished is no reason to fail", async () => {
    for (const name of ["user", "pty", "a"]) group(name, { frozen: true });
    const freezer = new Freezer(root, systemClock);
    await freezer.freeze({ ...options, mode: "hierarchy" });
    rmSync(join(root, "a"), { recursive: true });
    await freezer.thaw();
    expect(stateOf("user")).toBe("0");
  });

  test("a freeze that nobody ends is ended by the watchdog", async () => {
    group("user", { frozen: true });
    await new Freezer(root, systemClock, 30).freeze(options);
    for (let i = 0; i < 100 && stateOf("user") !== "0"; i++) await Bun.sleep(10);
    expect(stateOf("user")).toBe("0");
  });
});
