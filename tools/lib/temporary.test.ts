import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeTemporaryDirectory, sweepTemporaryDirectories } from "./temporary.ts";

const parent = mkdtempSync(join(tmpdir(), "boxyard-sweep-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));

test("the directory of a killed run is removed, even if its pid is in use again; those of current runs and others stay", async () => {
  const ended = Bun.spawn(["true"]);
  await ended.exited;
  const mine = makeTemporaryDirectory(parent);
  const killed = join(parent, `boxyard-tests-${ended.pid}-1`);
  const pidUsedAgain = join(parent, `boxyard-tests-${process.pid}-1`);
  const foreign = join(parent, "boxyard-tests-notes");
  for (const path of [killed, pidUsedAgain, foreign]) mkdirSync(path);
  writeFileSync(join(killed, "file"), "left");
  expect(sweepTemporaryDirectories(parent).sort()).toEqual([killed, pidUsedAgain].sort());
  expect([mine, killed, pidUsedAgain, foreign].map((path) => existsSync(path))).toEqual([true, false, false, true]);
});

test("a directory in which something is mounted stays", async () => {
  const ended = Bun.spawn(["true"]);
  await ended.exited;
  const killed = join(parent, `boxyard-tests-${ended.pid}-2`);
  mkdirSync(join(killed, "data/pool"), { recursive: true });
  writeFileSync(join(killed, "file"), "left");
  const mounted = (point: string) => () => [{ point, kind: "btrfs" }];
  expect(sweepTemporaryDirectories(parent, mounted(join(killed, "data/pool")))).toEqual([]);
  expect(existsSync(join(killed, "file"))).toBe(true);
  expect(sweepTemporaryDirectories(parent, mounted(`${killed}0`))).toEqual([killed]);
});

test("a network namespace that a killed run has kept is released with its directory", async () => {
  const ended = Bun.spawn(["true"]);
  await ended.exited;
  const killed = join(parent, `boxyard-tests-${ended.pid}-3`);
  mkdirSync(killed);
  const kept = join(killed, "net");
  writeFileSync(kept, "");
  expect(
    Bun.spawnSync(["unshare", "--net", "sh", "-c", 'exec nsenter --mount=/proc/$PPID/ns/mnt mount --bind /proc/$$/ns/net "$0"', kept])
      .exitCode,
  ).toBe(0);
  expect(sweepTemporaryDirectories(parent)).toEqual([killed]);
  expect(existsSync(killed)).toBe(false);
});

const EXT4 = 0xef53;

test("where it is on ext4, each directory in it gets a part of the disk of its own", async () => {
  const flags = async (path: string) => (await new Response(Bun.spawn(["lsattr", "-d", path]).stdout).text()).split(" ")[0];
  const isSpread = statfsSync(parent).type === EXT4 && (await flags(makeTemporaryDirectory(parent)))?.includes("T");
  expect(isSpread).toBe(statfsSync(parent).type === EXT4);
});
