import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { closeSync, mkdirSync, mkdtempSync, openSync, renameSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LIMITS } from "../limits.ts";
import { InotifyHub } from "./hub.ts";
import { WatchTree } from "./tree.ts";

let dir: string;
let told: string[];
let tree: WatchTree;
let lost: number;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "watch-tree-"));
  told = [];
  lost = 0;
  mkdirSync(join(dir, "root/d/sub"), { recursive: true });
  mkdirSync(join(dir, "outside"));
  tree = new WatchTree(new InotifyHub(), join(dir, "root"), true, {
    onEvent: ({ name, type }) => told.push(`${type.replace("EVENT_TYPE_", "")} ${name}`),
    onLost: () => lost++,
  });
  await tree.start();
});

afterEach(() => {
  tree.dispose();
  rmSync(dir, { recursive: true, force: true });
});

const path = (name: string) => join(dir, name);

/** Resolves when the event has been told; fails after two seconds. */
async function isTold(event: string): Promise<void> {
  for (let left = 200; !told.includes(event) && left > 0; left--) await Bun.sleep(10);
  expect(told).toContain(event);
}

/** Makes a file and expects to hear of it. */
async function expectWatched(name: string): Promise<void> {
  writeFileSync(path(`root/${name}`), "x");
  await isTold(`CREATE ${name}`);
  expect(lost).toBe(0);
}

const pastRenames = () => Bun.sleep(LIMITS.renameHalfMs + 100);

describe("WatchTree", () => {
  test("a directory moved out of the tree and made again is watched, at once and later", async () => {
    renameSync(path("root/d"), path("outside/d"));
    mkdirSync(path("root/d"));
    await isTold("CREATE d");
    await expectWatched("d/soon");
    await pastRenames();
    await expectWatched("d/later");
    writeFileSync(path("outside/d/gone"), "x");
    writeFileSync(path("outside/d/sub/gone"), "x");
    await expectWatched("d/last");
    expect(told.filter((event) => event.includes("gone"))).toEqual([]);
  });

  test("a directory removed while it is held open and made again is watched", async () => {
    const held = openSync(path("root/d/sub"), "r");
    try {
      rmdirSync(path("root/d/sub"));
      await isTold("REMOVE d/sub");
      mkdirSync(path("root/d/sub"));
      await isTold("CREATE d/sub");
      await expectWatched("d/sub/file");
    } finally {
      closeSync(held);
    }
    await pastRenames();
    await expectWatched("d/sub/later");
  });

  test("a directory moved out of the tree and back stays watched", async () => {
    renameSync(path("root/d"), path("outside/d"));
    await isTold("RENAME d");
    renameSync(path("outside/d"), path("root/d"));
    await isTold("CREATE d");
    await pastRenames();
    await expectWatched("d/file");
    await expectWatched("d/sub/file");
  });

  test("a directory moved within the tree is told by its new name, also over an empty one that is held open", async () => {
    mkdirSync(path("root/e"));
    await isTold("CREATE e");
    const held = openSync(path("root/e"), "r");
    try {
      renameSync(path("root/d"), path("root/e"));
      mkdirSync(path("root/d"));
      await isTold("CREATE d");
      await expectWatched("e/sub/file");
      await expectWatched("d/file");
    } finally {
      closeSync(held);
    }
    await pastRenames();
    await expectWatched("e/later");
  });
});
