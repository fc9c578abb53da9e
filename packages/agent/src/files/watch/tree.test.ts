import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LIMITS } from "../limits.ts";
import { InotifyHub } from "./hub.ts";
import { type TreeWatcher, WatchTree } from "./tree.ts";

let dir: string;
let told: string[];
let tree: WatchTree;
let lost: number;
let failures: string[];
/** Called for each event. */
let onEvent: () => void;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "watch-tree-"));
  told = [];
  lost = 0;
  failures = [];
  onEvent = () => {};
  mkdirSync(join(dir, "root/d/sub"), { recursive: true });
  mkdirSync(join(dir, "outside"));
  tree = newTree();
  await tree.start();
});

function newTree(maxDirs?: number): WatchTree {
  const watcher: TreeWatcher = {
    onEvent({ name, type }) {
      told.push(`${type.replace("EVENT_TYPE_", "")} ${name}`);
      onEvent();
    },
    onLost: () => lost++,
    onFailed: (error) => failures.push(`${error.code} ${error.reason}`),
  };
  return new WatchTree(new InotifyHub(), join(dir, "root"), true, watcher, maxDirs);
}

afterEach(() => {
  tree.dispose();
  rmSync(dir, { recursive: true, force: true });
});

const path = (name: string) => join(dir, name);

/** Resolves when `isSo` returns true; fails after ten seconds. */
async function eventually(isSo: () => boolean): Promise<void> {
  for (let left = 1000; !isSo() && left > 0; left--) await Bun.sleep(10);
  expect(isSo()).toBe(true);
}

/** Resolves when the event has been reported. */
async function isTold(event: string): Promise<void> {
  await eventually(() => told.includes(event)).catch(() => expect(told).toContain(event));
}

/** Number of directories that the kernel watches for this process. The runtime has two descriptors of the instance. */
function watchedByKernel(): number {
  const watches = new Set<string>();
  for (const fd of readdirSync("/proc/self/fdinfo")) {
    if (!existsSync(`/proc/self/fdinfo/${fd}`)) continue;
    for (const line of readFileSync(`/proc/self/fdinfo/${fd}`, "utf8").split("\n")) if (line.startsWith("inotify wd:")) watches.add(line);
  }
  return watches.size;
}

/** Makes the kernel's queue overflow: synchronous, so that the reader cannot run. */
function overflow(): void {
  const queued = Number(readFileSync("/proc/sys/fs/inotify/max_queued_events", "utf8"));
  for (let i = 0; i <= queued / 2; i++) {
    writeFileSync(path("root/flood"), "x");
    rmSync(path("root/flood"));
  }
}

/** Makes a file and expects its event. */
async function expectWatched(name: string): Promise<void> {
  writeFileSync(path(`root/${name}`), "x");
  await isTold(`CREATE ${name}`);
  expect(lost).toBe(0);
}

// Time alone: the second half of a rename that never comes.
const pastRenames = () => Bun.sleep(LIMITS.renameHalfMs + 100);

describe("WatchTree", () => {
  test("after a directory was moved out of the tree, a new one of its name is watched, at once and later", async () => {
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

  test("after an open directory was removed, a new one of its name is watched", async () => {
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

  test("a directory moved within the tree is reported by its new name, also over an empty one that is held open", async () => {
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

  test("a file that is replaced in a new directory is reported again", async () => {
    mkdirSync(path("root/new"));
    writeFileSync(path("root/new/config"), "1");
    await isTold("WRITE new/config");
    const before = told.length;
    writeFileSync(path("root/new/tmp"), "2");
    renameSync(path("root/new/tmp"), path("root/new/config"));
    await isTold("RENAME new/tmp");
    await eventually(() => told.slice(before).includes("CREATE new/config"));
  });

  test("events of new directories are reported in an order that leads to the final tree", async () => {
    for (let i = 0; i < 200; i++) {
      mkdirSync(path(`root/n${i}/a`), { recursive: true });
      writeFileSync(path(`root/n${i}/a/f`), "x");
      if (i % 20 === 0) await Bun.sleep(0);
      renameSync(path(`root/n${i}/a`), path(`root/n${i}/b`));
      mkdirSync(path(`root/n${i}/a`));
      writeFileSync(path(`root/n${i}/a/g`), "x");
      if (i % 30 === 0) await Bun.sleep(0);
      rmSync(path(`root/n${i}/b`), { recursive: true });
    }
    await expectWatched("last");
    const finalTree = () => {
      const there = new Set<string>();
      for (const event of told) {
        const [type = "", name = ""] = event.split(" ");
        if (type === "CREATE") there.add(name);
        if (type === "REMOVE" || type === "RENAME") for (const gone of there) if (`${gone}/`.startsWith(`${name}/`)) there.delete(gone);
      }
      return [...there].filter((name) => name.startsWith("n")).sort();
    };
    const expected = Array.from({ length: 200 }, (_, i) => [`n${i}`, `n${i}/a`, `n${i}/a/g`]).flat();
    // What a new directory holds is found by a look into it, which may come after the events of its parent.
    await eventually(() => finalTree().length >= expected.length);
    expect(finalTree()).toEqual(expected.sort());
    for (const i of [0, 99, 199]) await expectWatched(`n${i}/a/later`);
  });

  test("a directory renamed thousands of times in a row stays watched under its last name", async () => {
    for (let i = 0; i < 3000; i++) renameSync(path(`root/d${i || ""}`), path(`root/d${i + 1}`));
    await isTold("CREATE d3000");
    await expectWatched("d3000/sub/file");
    await pastRenames();
    await expectWatched("d3000/sub/later");
    expect(told.filter((event) => event === "CREATE d3000/sub")).toEqual([]);
  });

  test("after lost events all directories are watched by their current names, and no event is reported twice or by an old name", async () => {
    overflow();
    renameSync(path("root/d"), path("root/e"));
    mkdirSync(path("root/d"));
    mkdirSync(path("root/made/deep"), { recursive: true });
    await eventually(() => lost === 1);
    told = [];
    for (const name of ["e/file", "e/sub/file", "d/file", "made/deep/file"]) writeFileSync(path(`root/${name}`), "x");
    for (const name of ["e/file", "e/sub/file", "d/file", "made/deep/file", "end"]) {
      if (name === "end") writeFileSync(path("root/end"), "x");
      await isTold(`CREATE ${name}`);
    }
    expect(told.filter((event) => event.startsWith("CREATE")).sort()).toEqual(
      ["d/file", "e/file", "e/sub/file", "end", "made/deep/file"].map((name) => `CREATE ${name}`),
    );
    expect([lost, failures]).toEqual([1, []]);
  });

  test("a watch that is disposed of while it reads the tree again reports nothing more", async () => {
    tree.onLost();
    tree.dispose();
    const other = newTree();
    await other.start();
    other.onLost();
    await eventually(() => lost > 0);
    other.dispose();
    expect([lost, failures]).toEqual([1, []]);
  });

  test("after lost events directories that were moved away or removed are no longer watched", async () => {
    overflow();
    renameSync(path("root/d"), path("outside/d"));
    await eventually(() => lost === 1);
    told = [];
    writeFileSync(path("outside/d/sub/unseen"), "x");
    writeFileSync(path("root/end"), "x");
    await isTold("CREATE end");
    expect(told.filter((event) => event.includes("unseen"))).toEqual([]);
    await eventually(() => watchedByKernel() === 1);
  });

  test("after lost events a watched directory that was moved is still reported, with the tree below", async () => {
    overflow();
    renameSync(path("root"), path("outside/moved"));
    mkdirSync(path("root"));
    await eventually(() => lost === 1);
    await pastRenames();
    writeFileSync(path("outside/moved/d/file"), "x");
    await isTold("CREATE d/file");
  });

  test("other work runs while many events are reported", async () => {
    let turns = 0;
    const counting = setInterval(() => turns++, 0);
    const turnsSeen = new Set<number>();
    onEvent = () => {
      turnsSeen.add(turns);
      for (const until = performance.now() + LIMITS.sliceMs; performance.now() < until; );
    };
    for (let i = 0; i < 20; i++) mkdirSync(path(`root/g${i}`));
    await isTold("CREATE g19");
    clearInterval(counting);
    expect(turnsSeen.size).toBeGreaterThan(10);
  });

  test("directories whose names are not UTF-8 are watched, existing and new ones", async () => {
    const odd = (name: string) => Buffer.from(join(dir, "root", name), "latin1");
    mkdirSync(odd("new-\xff\xfe"));
    await isTold("CREATE new-\ufffd\ufffd");
    writeFileSync(odd("new-\xff\xfe/file"), "x");
    await isTold("CREATE new-\ufffd\ufffd/file");
    tree.dispose();
    tree = newTree();
    await tree.start();
    writeFileSync(odd("new-\xff\xfe/again"), "x");
    await isTold("CREATE new-\ufffd\ufffd/again");
    mkdirSync(path("root/dé"));
    await isTold("CREATE dé");
    await expectWatched("dé/ü");
  });

  test("a large existing directory is watched, and its content is not reported", async () => {
    mkdirSync(path("outside/large/sub"), { recursive: true });
    // The longest names, so that few entries make it large.
    for (let i = 0; i < 300; i++) writeFileSync(path(`outside/large/${String(i).padStart(255, "n")}`), "");
    tree.dispose();
    renameSync(path("outside/large"), path("root/large"));
    expect(statSync(path("root/large")).size).toBeGreaterThan(LIMITS.smallDirBytes);
    told = [];
    tree = newTree();
    await tree.start();
    await expectWatched("large/sub/file");
    expect(told.filter((event) => !event.endsWith(" large/sub/file"))).toEqual([]);
  });

  test("more directories than maxDirs fail the start, which leaves no watch, and later end the watch", async () => {
    tree.dispose();
    await expect(newTree(2).start()).rejects.toMatchObject({ code: "resource_exhausted", reason: "too_many_watches" });
    await eventually(() => watchedByKernel() === 0);
    tree = newTree(4);
    await tree.start();
    mkdirSync(path("root/fourth"));
    await expectWatched("fourth/file");
    expect(failures).toEqual([]);
    mkdirSync(path("root/fifth"));
    await eventually(() => failures.length > 0);
    expect(failures).toEqual(["resource_exhausted too_many_watches"]);
    await eventually(() => watchedByKernel() === 0);
  });
});
