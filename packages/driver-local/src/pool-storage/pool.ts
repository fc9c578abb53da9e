import { existsSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { fromErrno } from "@boxyard/core/node";
import { DEFAULT_MAX_LAYER_BYTES } from "@boxyard/driver";
import type { ClonedDisk, CloneSize, GrowthWatch, PoolRoom, PoolStorage } from "../parts.ts";
import type { Reserve } from "../reserve-for-machine.ts";
import {
  createSubvolume,
  destroySubvolume,
  filesystemId,
  removeQgroup,
  setQgroupLimit,
  snapshotSubvolume,
  subvolumeId,
} from "../sys/btrfs.ts";
import { hasErrno } from "../sys/libc.ts";
import { AllocateAhead } from "./allocate-ahead.ts";
import { GrowthGuard } from "./growth-guard.ts";
import { BASE_SEED, InodeSeeds, seedAbove } from "./inode-seeds.ts";
import { isPoolReadOnly, isReadOnly, mountPool, unmountPool } from "./mount.ts";
import { checkMounted } from "./mounted.ts";
import { digestHex, diskName, poolPaths } from "./paths.ts";
import { type Aside, ReadyDisks, snapshotAside } from "./ready-disks.ts";
import { growthIn, roomIn } from "./room.ts";

/** Limit of a volume that is full already: room for the few small files of a start. */
const LEAST_BYTES = 1 << 20;

/** Mounts the pool of `dataDir` (or uses the mounted one) and removes qgroups that older kernels keep. */
export async function openPool(dataDir: string, reserve: Reserve = {}, aside?: Aside): Promise<PoolStorage> {
  await mountPool(dataDir);
  const pool = new BtrfsPool(dataDir, reserve, aside);
  if (!isPoolReadOnly(dataDir)) await pool.tidy();
  return pool;
}

/** One btrfs: a subvolume with its own limit for each sandbox, and the directory of unpacked layers. Keeps no file open. */
class BtrfsPool implements PoolStorage {
  readonly root: string;
  readonly layersRoot: string;
  readonly generationsRoot: string;
  readonly snapshotsRoot: string;
  readonly userVolumesRoot: string;
  private readonly dataDir: string;
  private readonly reserve: Reserve;
  private readonly aside: Aside | undefined;
  private readonly disksRoot: string;
  private readonly making: string;
  private readonly qgroups: string;
  private readonly seeds: InodeSeeds;
  private readonly ready: ReadyDisks;
  private guard: GrowthGuard | undefined;
  private ahead: AllocateAhead | undefined;

  constructor(dataDir: string, reserve: Reserve, aside: Aside | undefined) {
    this.dataDir = dataDir;
    this.reserve = reserve;
    this.aside = aside;
    this.seeds = new InodeSeeds(dataDir);
    this.ready = new ReadyDisks(poolPaths(dataDir).readyDisks, this.seeds, aside);
    this.root = poolPaths(dataDir).root;
    this.layersRoot = `${this.root}/layers`;
    this.generationsRoot = poolPaths(dataDir).generations;
    this.snapshotsRoot = poolPaths(dataDir).snapshots;
    this.userVolumesRoot = poolPaths(dataDir).userVolumes;
    this.disksRoot = `${this.root}/sandboxes`;
    this.making = poolPaths(dataDir).making;
    this.qgroups = `/sys/fs/btrfs/${filesystemId(this.root)}/qgroups`;
  }

  async tidy(): Promise<void> {
    this.removeStaleQgroups();
    // Most sandboxes use this seed: the first create should not wait while it is made.
    await this.seeds.get(BASE_SEED);
    this.ready.fill(BASE_SEED);
  }

  async createDisk(id: string, limitBytes: number, layers: readonly string[] = []): Promise<string> {
    const name = diskName(id);
    try {
      // All small images share the ready volumes of one seed, of which some are there before the first sandbox.
      const seed = Math.max(BASE_SEED, seedAbove(layers.map((digest) => this.seeds.endOf(this.layerPath(digest)))));
      await this.withLimit(limitBytes, (limit) =>
        layers.length === 0 ? createSubvolume(this.disksRoot, name, limit) : this.createAbove(seed, name, limit),
      );
    } catch (error) {
      throw fromErrno(`create volume ${id}`, error);
    }
    return `${this.disksRoot}/${name}`;
  }

  private async createAbove(seed: number, name: string, limitBytes: number): Promise<void> {
    const path = `${this.disksRoot}/${name}`;
    await this.ready.moveTo(path, seed);
    // The limit is set in time: nothing writes to the volume before this method returns.
    setQgroupLimit(this.root, subvolumeId(path), limitBytes);
  }

  async cloneDisk(id: string, kept: string, size: CloneSize): Promise<ClonedDisk> {
    const path = this.diskPath(id);
    if (existsSync(path)) throw new AppError("already_exists", `there is a disk at ${path}`, { reason: "disk_exists" });
    try {
      return { path, baseBytes: await this.cloneTree(kept, this.disksRoot, id, size) };
    } catch (error) {
      throw fromErrno(`clone volume ${id}`, error);
    }
  }

  async createTree(parent: string, name: string, limitBytes: number): Promise<void> {
    await this.withLimit(limitBytes, (limit) => createSubvolume(parent, name, limit));
  }

  async cloneTree(source: string, parent: string, name: string, { heldBytes, limitBytes }: CloneSize): Promise<number> {
    return this.withLimit(limitBytes, async (limit) => {
      await snapshotAside(this.aside, source, parent, name);
      const path = `${parent}/${name}`;
      const baseBytes = Math.max(0, heldBytes - this.usageOf(path));
      setQgroupLimit(this.root, subvolumeId(path), Math.min(limit, Math.max(LEAST_BYTES, limitBytes - baseBytes)));
      return baseBytes;
    });
  }

  async limitTree(path: string, limitBytes: number): Promise<void> {
    await this.withLimit(Math.max(LEAST_BYTES, limitBytes), (limit) => {
      // A share of the free space comes on top of what it holds.
      const most = Math.min(limitBytes, this.usageOf(path) + limit);
      setQgroupLimit(this.root, subvolumeId(path), Math.max(LEAST_BYTES, most));
    });
  }

  diskPath(id: string): string {
    return `${this.disksRoot}/${diskName(id)}`;
  }

  async destroyDisk(id: string): Promise<void> {
    const name = diskName(id);
    try {
      const qgroup = subvolumeId(`${this.disksRoot}/${name}`);
      destroySubvolume(this.disksRoot, name);
      removeQgroup(this.root, qgroup);
    } catch (error) {
      // EROFS: a read-only pool cannot remove the volume, and does not list it. It is listed again once the pool is writable.
      if (!hasErrno(error, "ENOENT", "EROFS")) throw fromErrno(`destroy volume ${id}`, error);
    }
  }

  async keepDisk(id: string, parent: string, name: string): Promise<void> {
    try {
      snapshotSubvolume(this.diskPath(id), parent, name, { readOnly: true });
    } catch (error) {
      throw fromErrno(`keep volume ${id}`, error);
    }
  }

  async resetDisk(id: string, kept: string, limitBytes: number): Promise<void> {
    const name = diskName(id);
    // Ids of sandboxes have no dot, so this name is none.
    const aside = `${name}.reset`;
    try {
      if (existsSync(`${this.disksRoot}/${aside}`)) destroySubvolume(this.disksRoot, aside);
      snapshotSubvolume(kept, this.disksRoot, aside);
      setQgroupLimit(this.root, subvolumeId(`${this.disksRoot}/${aside}`), limitBytes);
      await this.destroyDisk(id);
      renameSync(`${this.disksRoot}/${aside}`, `${this.disksRoot}/${name}`);
    } catch (error) {
      throw fromErrno(`reset volume ${id}`, error);
    }
  }

  /** What the kernel has counted and reserved: bytes that are still in the page cache are included. */
  usageOf(path: string): number {
    const directory = `${this.qgroups}/0_${subvolumeId(path)}`;
    return readNumber(`${directory}/referenced`) + readNumber(`${directory}/rsv_data`);
  }

  async usage(id: string): Promise<{ usedBytes: number }> {
    try {
      return { usedBytes: this.usageOf(this.diskPath(id)) };
    } catch (error) {
      throw fromErrno(`usage of volume ${id}`, error);
    }
  }

  watchGrowth({ limitOf, userVolumeLimitOf, clock, logger }: GrowthWatch): void {
    const growers = () => [
      ...readdirSync(this.disksRoot).map((name) => ({ path: `${this.disksRoot}/${name}`, limitBytes: () => limitOf(name) })),
      ...readdirSync(this.userVolumesRoot).map((id) => ({
        path: `${this.userVolumesRoot}/${id}/disk`,
        limitBytes: () => userVolumeLimitOf(id),
      })),
      ...treesInTheMaking(this.making).map((path) => ({ path, limitBytes: () => DEFAULT_MAX_LAYER_BYTES })),
    ];
    const ahead = new AllocateAhead(this.dataDir, this.reserve, logger);
    this.ahead = ahead;
    const recover = async () => {
      // Leaves a pool that sandboxes use as it is; paused sandboxes do not use it.
      await mountPool(this.dataDir);
      if (isPoolReadOnly(this.dataDir)) return;
      ahead.forgetMount();
      await this.tidy();
    };
    const growth = () => growthIn(this.dataDir, this.reserve);
    const allocateAhead = () => ahead.keep();
    this.guard = new GrowthGuard({ root: this.root, qgroups: this.qgroups, growth, growers, recover, allocateAhead, clock, logger });
    this.guard.start();
  }

  async withLimit<T>(limitBytes: number, make: (limitBytes: number) => T | Promise<T>): Promise<T> {
    return this.guard ? this.guard.add(limitBytes, make) : make(limitBytes);
  }

  room(): PoolRoom {
    return roomIn(this.dataDir, this.reserve);
  }

  async listDisks(): Promise<readonly string[]> {
    checkMounted(this.disksRoot);
    if (isReadOnly(this.root)) return [];
    return readdirSync(this.disksRoot).sort();
  }

  hasLayer(digest: string): boolean {
    checkMounted(this.layersRoot);
    return existsSync(this.layerPath(digest));
  }

  layerPath(digest: string): string {
    return `${this.layersRoot}/${digestHex(digest)}`;
  }

  /** Kernels before 6.10 keep the qgroup of a deleted subvolume for ever, and the server may die between the two calls of `destroyDisk`. */
  private removeStaleQgroups(): void {
    // Read before the volumes, so that the qgroup of a volume that is made meanwhile is not stale.
    const entries = readdirSync(this.qgroups);
    const live = new Set<string>();
    // Before the volumes, because a ready volume may become a volume meanwhile.
    for (const seed of [...this.seeds.all(), ...this.ready.all()]) live.add(`0_${subvolumeId(seed)}`);
    for (const parent of [this.disksRoot, this.layersRoot]) {
      for (const name of readdirSync(parent)) live.add(`0_${subvolumeId(`${parent}/${name}`)}`);
    }
    for (const disk of [...keptVolumes(this.generationsRoot), ...disksIn(this.snapshotsRoot), ...disksIn(this.userVolumesRoot)]) {
      live.add(`0_${subvolumeId(disk)}`);
    }
    for (const tree of treesInTheMaking(this.making)) live.add(`0_${subvolumeId(tree)}`);
    for (const entry of entries) {
      const id = /^0_(\d+)$/.exec(entry)?.[1];
      // Numbers below 256 are the file system's own trees.
      if (id !== undefined && BigInt(id) >= 256n && !live.has(entry)) removeQgroup(this.root, BigInt(id));
    }
  }

  async close(): Promise<void> {
    await this.guard?.close();
    await this.ahead?.close();
    await this.ready.close();
  }

  async release(): Promise<void> {
    await this.close();
    await unmountPool(this.dataDir);
  }
}

function keptVolumes(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory).flatMap((sandbox) => disksIn(`${directory}/${sandbox}`));
}

function disksIn(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .map((name) => `${directory}/${name}/disk`)
    .filter((disk) => existsSync(disk));
}

function treesInTheMaking(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .map((name) => `${directory}/${name}/tree`)
    .filter((tree) => existsSync(tree));
}

function readNumber(path: string): number {
  return Number(readFileSync(path, "utf8"));
}
