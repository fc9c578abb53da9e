import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { importLayer, LayerStore } from "../images/index.ts";
import type { PoolStorage } from "../parts.ts";
import { runtimeStateIn } from "../state/state-mount.ts";
import { createSubvolume, destroySubvolume, filesystemId, subvolumeId } from "../sys/btrfs.ts";
import { type ChildProgram, ForkServer } from "../sys/fork-server/index.ts";
import { getxattr, mount, umount2 } from "../sys/libc.ts";
import { findLoop } from "../sys/loop.ts";
import { runCommand } from "../sys/run.ts";
import { buildHelper } from "../testing/build-helper.ts";
import { isPoolMounted, makePoolImage, mountPool, openPool, poolPaths, quotaMode } from "./index.ts";
import { BASE_SEED, InodeSeeds, SEED_STEP } from "./inode-seeds.ts";
import { type Aside, snapshotAside } from "./ready-disks.ts";

const MIB = 1024 ** 2;
const dataDir = mkdtempSync(join(tmpdir(), "boxyard-pool-"));
const paths = poolPaths(dataDir);
let pool: PoolStorage;

beforeAll(async () => {
  await makePoolImage(paths.image, 4096 * MIB);
  pool = await openPool(dataDir);
});

afterAll(async () => {
  try {
    await pool?.release();
    expect(isPoolMounted(dataDir)).toBe(false);
    // A mount namespace that another process made meanwhile has a copy of this mount until it ends.
    await eventually("the loop device is gone", () => findLoop(paths.image) === undefined, { withinMs: 20_000 });
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}, 30_000);

const digestOfFile = (path: string): string => `sha256:${new Bun.CryptoHasher("sha256").update(readFileSync(path)).digest("hex")}`;

/** The error of a call that must fail. Not by `rejects`: while it waits, the end of a ready volume's child can get lost (docs/flake-patterns.md). */
const refusal = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

/** The numbers that name the seeds of the pool. */
const seedNumbers = (): number[] =>
  readdirSync(paths.inodeSeeds)
    .filter((name) => name !== "lock")
    .map(Number)
    .sort((a, b) => a - b);

/** Writes zeros until the kernel refuses; returns the error's name and how much went in. */
function fill(file: string, atMostBytes: number): { code: string; bytes: number } {
  const fd = openSync(file, "w");
  const block = new Uint8Array(MIB);
  let bytes = 0;
  try {
    while (bytes < atMostBytes) bytes += writeSync(fd, block);
    return { code: "none", bytes };
  } catch (error) {
    return { code: (error as { code: string }).code, bytes };
  } finally {
    closeSync(fd);
  }
}

test("a mounted pool is sparse, its mount is shared, and quotas are on", async () => {
  expect(statSync(paths.image).blocks * 512).toBeLessThan(64 * MIB);
  expect(quotaMode(paths.root)).toBeDefined();
  const line = (await Bun.file("/proc/self/mountinfo").text()).split("\n").find((l) => l.includes(` ${paths.root} `));
  expect(line).toContain("shared:");
  expect(line).toContain("noatime");
});

test("a second open uses the mounted pool", async () => {
  const before = findLoop(paths.image);
  const second = await openPool(dataDir);
  expect(findLoop(paths.image)).toBe(before as string);
  await second.close();
});

test("volumes are created, listed and destroyed", async () => {
  const path = await pool.createDisk("iaaa", 16 * MIB);
  expect(readdirSync(path)).toEqual([]);
  expect(await pool.listDisks()).toEqual(["iaaa"]);
  expect(await refusal(pool.createDisk("iaaa", 16 * MIB))).toMatchObject({ code: "already_exists" });
  await pool.destroyDisk("iaaa");
  await pool.destroyDisk("iaaa");
  expect(await pool.listDisks()).toEqual([]);
  expect(await refusal(pool.usage("iaaa"))).toMatchObject({ code: "not_found" });
});

test("a name cannot leave the pool", async () => {
  for (const id of ["../x", "a/b", "", ".", "..", "x".repeat(65), "a\0b"]) {
    expect(await refusal(pool.createDisk(id, MIB))).toMatchObject({ reason: "invalid_volume_id" });
  }
  expect(() => pool.layerPath("sha256:../../etc")).toThrow("is no digest");
});

test("the limit holds through overlay, and usage reports the used bytes", async () => {
  const path = await pool.createDisk("ilimit", 32 * MIB);
  const merged = join(dataDir, "merged");
  const lower = join(dataDir, "lower");
  for (const directory of [`${path}/upper`, `${path}/work`, merged, lower]) mkdirSync(directory);
  mount("overlay", merged, "overlay", 0, `lowerdir=${lower},upperdir=${path}/upper,workdir=${path}/work`);
  try {
    const { code, bytes } = fill(`${merged}/big`, 64 * MIB);
    expect(code).toBe("EDQUOT");
    expect(bytes).toBeGreaterThan(28 * MIB);
    expect(bytes).toBeLessThanOrEqual(32 * MIB);
    const { usedBytes } = await pool.usage("ilimit");
    expect(usedBytes).toBeGreaterThan(28 * MIB);
    expect(usedBytes).toBeLessThanOrEqual(33 * MIB);
    rmSync(`${merged}/big`);
    await runCommand(["sync", "--file-system", paths.root]);
    expect(fill(`${merged}/again`, 8 * MIB).code).toBe("none");
  } finally {
    umount2(merged);
    await pool.destroyDisk("ilimit");
  }
});

test("a volume over layers has inode numbers above theirs, is empty and has its limit", async () => {
  const tree = join(dataDir, "small");
  const tar = join(dataDir, "small.tar");
  mkdirSync(tree);
  await runCommand(["tar", "-C", tree, "-cf", tar, "."]);
  const digest = digestOfFile(tar);
  await importLayer(dataDir, tar, digest);
  const path = await pool.createDisk("iover", 16 * MIB, [digest]);
  try {
    expect(readdirSync(path)).toEqual([]);
    expect((await pool.usage("iover")).usedBytes).toBeLessThan(MIB);
    mkdirSync(`${path}/upper`);
    // From the ready volumes of the base template, although this layer has few files.
    expect(statSync(`${path}/upper`).ino).toBeGreaterThanOrEqual(BASE_SEED * SEED_STEP);
    expect(readdirSync(paths.readyDisks).filter((name) => !name.startsWith(`${BASE_SEED}-`))).toEqual([]);
    const { code, bytes } = fill(`${path}/upper/big`, 64 * MIB);
    expect(code).toBe("EDQUOT");
    expect(bytes).toBeLessThanOrEqual(16 * MIB);
  } finally {
    await pool.destroyDisk("iover");
    new LayerStore(dataDir).remove(digest);
  }
});

test("seeds are made once for concurrent callers, also after a process was killed while it made one", async () => {
  createSubvolume(paths.inodeSeeds, "new");
  const makers = [new InodeSeeds(dataDir), new InodeSeeds(dataDir)];
  const [one, other] = await Promise.all(makers.map((seeds) => seeds.get(BASE_SEED + 1)));
  expect(one).toBe(other as string);
  expect(seedNumbers()).toEqual([1, 2, 3, 4].map((seed) => seed * SEED_STEP));
  expect(readdirSync(one as string)).toEqual(["hold"]);
  expect(statSync(`${one}/hold`).ino).toBe((BASE_SEED + 1) * SEED_STEP - 1);
  await openPool(dataDir); // Removes stale qgroups, but not those of seeds.
  expect(existsSync(`/sys/fs/btrfs/${filesystemId(paths.root)}/qgroups/0_${subvolumeId(one as string)}`)).toBe(true);
}, 30_000);

test("a pool whose seeds were made at larger steps goes on from them", async () => {
  const seeds = new InodeSeeds(dataDir);
  for (const seed of [1, 2, 3]) destroySubvolume(paths.inodeSeeds, `${seed * SEED_STEP}`);
  expect(statSync(`${await seeds.get(6)}/hold`).ino).toBe(6 * SEED_STEP - 1);
  expect(seedNumbers()).toEqual([4, 5, 6].map((seed) => seed * SEED_STEP));
  expect(statSync(`${await seeds.get(2)}/hold`).ino).toBe(2 * SEED_STEP - 1);
  expect(seedNumbers()).toEqual([1, 2, 4, 5, 6].map((seed) => seed * SEED_STEP));
}, 30_000);

test("a snapshot is made by a child of the fork server, and its failure is the kernel's", async () => {
  const forkServer = new ForkServer(buildHelper("fork-server"));
  const [source, parent] = [join(pool.root, "making", "source"), join(pool.root, "making")];
  const results: string[] = [];
  const aside: Aside = {
    run: (program: ChildProgram) => {
      const done = forkServer.run(program);
      void done.then(
        () => results.push("done"),
        () => results.push("failed"),
      );
      return done;
    },
  };
  try {
    createSubvolume(parent, "source");
    writeFileSync(join(source, "file"), "same");
    await snapshotAside(aside, source, parent, "copy");
    expect([results, readFileSync(join(parent, "copy", "file"), "utf8")]).toEqual([["done"], "same"]);
    expect(await refusal(snapshotAside(aside, source, parent, "copy"))).toMatchObject({ code: "EEXIST" });
    expect(results).toEqual(["done", "failed"]);
  } finally {
    forkServer.close();
    for (const name of ["source", "copy"]) if (existsSync(join(parent, name))) destroySubvolume(parent, name);
  }
});

test("the qgroup of a deleted volume is removed", async () => {
  const path = await pool.createDisk("iq", 16 * MIB);
  writeFileSync(`${path}/file`, new Uint8Array(4 * MIB));
  const qgroup = `/sys/fs/btrfs/${filesystemId(paths.root)}/qgroups/0_${subvolumeId(path)}`;
  expect(existsSync(qgroup)).toBe(true);
  await pool.destroyDisk("iq");
  // The kernel frees the blocks in the background, and the qgroup last.
  const deadline = Date.now() + 40_000;
  while (existsSync(qgroup) && Date.now() < deadline) {
    await runCommand(["btrfs", "filesystem", "sync", paths.root]); // Wakes the kernel's cleaner, which otherwise runs every 30 s.
    await openPool(dataDir); // Removes qgroups that older kernels keep.
    await Bun.sleep(50);
  }
  expect(existsSync(qgroup)).toBe(false);
}, 60_000);

test("a layer keeps owners, modes, file capabilities and extended attributes", async () => {
  const tree = join(dataDir, "tree");
  const tar = join(dataDir, "layer.tar");
  mkdirSync(`${tree}/bin`, { recursive: true });
  writeFileSync(`${tree}/bin/ping`, "x", { mode: 0o755 });
  writeFileSync(`${tree}/owned`, "y", { mode: 0o640 });
  await runCommand(["chown", "1000:1001", `${tree}/owned`]);
  await runCommand(["chmod", "4755", `${tree}/owned`]);
  await runCommand(["setcap", "cap_net_raw=ep", `${tree}/bin/ping`]);
  await runCommand(["setfattr", "-n", "user.note", "-v", "hello", `${tree}/owned`]).catch(() => {});
  await runCommand(["tar", "-C", tree, "--xattrs", "--xattrs-include=*", "-cf", tar, "."]);
  const digest = digestOfFile(tar);

  expect(await refusal(importLayer(dataDir, tar, `sha256:${"0".repeat(64)}`))).toMatchObject({ reason: "bad_digest" });
  expect(pool.hasLayer(digest)).toBe(false);
  await Promise.all([importLayer(dataDir, tar, digest), importLayer(dataDir, tar, digest)]);
  expect(pool.hasLayer(digest)).toBe(true);
  expect(readdirSync(pool.layersRoot)).toEqual([digest.slice(7)]);

  const path = pool.layerPath(digest);
  const { uid, gid, mode } = statSync(`${path}/owned`);
  expect({ uid, gid, mode: mode & 0o7777 }).toEqual({ uid: 1000, gid: 1001, mode: 0o4755 });
  expect(getxattr(`${path}/bin/ping`, "security.capability")).toEqual(getxattr(`${tree}/bin/ping`, "security.capability"));
});

test("users of the machine reach neither layers nor sandboxes, and set-user-id has no effect there", () => {
  for (const directory of ["layers", "sandboxes"]) expect(statSync(`${paths.root}/${directory}`).mode & 0o777).toBe(0o700);
  const mount = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .find((line) => line.includes(` ${paths.root} `));
  expect(mount?.split(" ")[5]).toContain("nosuid");
});

test.each([runtimeStateIn(dataDir), paths.root])(
  "release refuses while %s is in use, which it names, and leaves the pool mounted",
  async (inUse) => {
    const fd = openSync(inUse, "r");
    try {
      expect(await refusal(pool.release())).toMatchObject({
        reason: "pool_busy",
        message: expect.stringContaining(`'fuser -vm ${inUse}'`),
      });
      expect(isPoolMounted(dataDir)).toBe(true);
      expect(existsSync(`${paths.root}/layers`)).toBe(true);
    } finally {
      closeSync(fd);
    }
  },
  15_000,
);

test("a pool that another program has unmounted answers `pool_not_mounted`, not that it is empty", async () => {
  umount2(paths.root);
  try {
    const unmounted = { code: "unavailable", reason: "pool_not_mounted" };
    const digest = `sha256:${"a".repeat(64)}`;
    expect(await refusal((async () => pool.hasLayer(digest))())).toMatchObject(unmounted);
    expect(await refusal(pool.listDisks())).toMatchObject(unmounted);
  } finally {
    await mountPool(dataDir);
  }
});
