import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PinnedDir } from "../path/pinned-dir.ts";
import { type HeldDir, HeldDirs } from "./held-dirs.ts";

const OPEN_AT_ONCE = 4;
const MANY = 7;
let home = "";
let dirs = new HeldDirs();
let held: HeldDir[] = [];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "boxyard-held-"));
  dirs = new HeldDirs(OPEN_AT_ONCE);
  held = Array.from({ length: MANY }, (_, i) => {
    mkdirSync(join(home, `${i}`));
    const { dir } = dirs.hold(PinnedDir.open(join(home, `${i}`)));
    writeFileSync(dir.at("file"), `${i}`);
    return dir;
  });
});
afterEach(() => {
  dirs.close();
  expect(openHere()).toBe(0);
  rmSync(home, { recursive: true });
});

/** Descriptors of directories of the test. */
function openHere(): number {
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(`${home}/`);
    } catch {
      return false;
    }
  }).length;
}

test("more directories than open descriptors can be used, in any order", () => {
  expect(openHere()).toBe(OPEN_AT_ONCE);
  dirs.check();
  for (const [i, dir] of held.entries()) renameSync(dir.at("file"), dir.at(`renamed-${i}`));
  expect(openHere()).toBe(OPEN_AT_ONCE);
  expect(readdirSync(join(home, "0"))).toEqual(["renamed-0"]);
  expect(readdirSync(join(home, `${MANY - 1}`))).toEqual([`renamed-${MANY - 1}`]);
});

test("two paths of one directory give one HeldDir, also after its descriptor was closed", () => {
  symlinkSync("0", join(home, "link"));
  expect(dirs.hold(PinnedDir.open(join(home, "link"))).dir).toBe(held[0] as HeldDir);
});

for (const [what, exchange] of [
  ["nothing", () => {}],
  ["a link to another one", (path: string) => symlinkSync("1", path)],
  ["a link to where it is now", (path: string) => symlinkSync("moved", path)],
  ["another one", (path: string) => mkdirSync(path)],
] as const) {
  test(`a directory whose descriptor was closed, and whose path now leads to ${what}`, () => {
    renameSync(join(home, "0"), join(home, "moved"));
    exchange(join(home, "0"));
    const use = () => held[0]?.at("file");
    if (what === "a link to where it is now") expect(use).not.toThrow();
    else {
      expect(use).toThrow("ESTALE");
      expect(() => dirs.check()).toThrow("ESTALE");
    }
  });
}

test("a directory with an open descriptor is used wherever it was moved to", () => {
  renameSync(join(home, `${MANY - 1}`), join(home, "moved"));
  writeFileSync(held.at(-1)?.at("file") ?? "", "there");
  expect(readdirSync(join(home, "moved"))).toEqual(["file"]);
});
