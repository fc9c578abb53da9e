import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fromErrno } from "@boxyard/core/node";
import type { PoolStorage } from "../parts.ts";
import { createSubvolume, destroySubvolume, filesystemId, removeQgroup, subvolumeId } from "../sys/btrfs.ts";
import { hasErrno } from "../sys/libc.ts";
import { mountPool, unmountPool } from "./mount.ts";
import { digestHex, poolPaths, volumeName } from "./paths.ts";

/** Mounts the pool of `dataDir` (or takes over the mounted one) and cleans up after kernels that leave qgroups behind. */
export async function openPool(dataDir: string): Promise<PoolStorage> {
  await mountPool(dataDir);
  const pool = new BtrfsPool(dataDir);
  pool.removeStaleQgroups();
  return pool;
}

/** One btrfs: a subvolume with a limit of its own for each sandbox, and the folder of unpacked layers. Holds nothing open. */
class BtrfsPool implements PoolStorage {
  readonly root: string;
  readonly layersRoot: string;
  private readonly dataDir: string;
  private readonly volumesRoot: string;
  private readonly making: string;
  private readonly qgroups: string;

  constructor(dataDir: string) {
    this.dataDir = dataDir;
    this.root = poolPaths(dataDir).root;
    this.layersRoot = `${this.root}/layers`;
    this.volumesRoot = `${this.root}/sandboxes`;
    this.making = poolPaths(dataDir).making;
    this.qgroups = `/sys/fs/btrfs/${filesystemId(this.root)}/qgroups`;
  }

  async createVolume(id: string, limitBytes: number): Promise<string> {
    const name = volumeName(id);
    try {
      createSubvolume(this.volumesRoot, name, limitBytes);
    } catch (error) {
      throw fromErrno(`create volume ${id}`, error);
    }
    return `${this.volumesRoot}/${name}`;
  }

  volumePath(id: string): string {
    return `${this.volumesRoot}/${volumeName(id)}`;
  }

  async destroyVolume(id: string): Promise<void> {
    const name = volumeName(id);
    try {
      const qgroup = subvolumeId(`${this.volumesRoot}/${name}`);
      destroySubvolume(this.volumesRoot, name);
      removeQgroup(this.root, qgroup);
    } catch (error) {
      if (!hasErrno(error, "ENOENT")) throw fromErrno(`destroy volume ${id}`, error);
    }
  }

  /** What the kernel has counted and promised; bytes still in the page cache are in it. */
  async usage(id: string): Promise<{ usedBytes: number }> {
    const name = volumeName(id);
    try {
      const folder = `${this.qgroups}/0_${subvolumeId(`${this.volumesRoot}/${name}`)}`;
      return { usedBytes: readNumber(`${folder}/referenced`) + readNumber(`${folder}/rsv_data`) };
    } catch (error) {
      throw fromErrno(`usage of volume ${id}`, error);
    }
  }

  async listVolumes(): Promise<readonly string[]> {
    return readdirSync(this.volumesRoot).sort();
  }

  hasLayer(digest: string): boolean {
    return existsSync(this.layerPath(digest));
  }

  layerPath(digest: string): string {
    return `${this.layersRoot}/${digestHex(digest)}`;
  }

  /** Kernels before 6.10 keep the qgroup of a deleted subvolume for ever, and we may die between the two calls of `destroyVolume`. */
  removeStaleQgroups(): void {
    // Read before the volumes, so that one made meanwhile is not taken for a stale one.
    const entries = readdirSync(this.qgroups);
    const live = new Set<string>();
    for (const parent of [this.volumesRoot, this.layersRoot]) {
      for (const name of readdirSync(parent)) live.add(`0_${subvolumeId(`${parent}/${name}`)}`);
    }
    for (const tree of treesInTheMaking(this.making)) live.add(`0_${subvolumeId(tree)}`);
    for (const entry of entries) {
      const id = /^0_(\d+)$/.exec(entry)?.[1];
      // Numbers below 256 are the file system's own trees.
      if (id !== undefined && BigInt(id) >= 256n && !live.has(entry)) removeQgroup(this.root, BigInt(id));
    }
  }

  async close(): Promise<void> {
    // No descriptor outlives a call.
  }

  async release(): Promise<void> {
    await unmountPool(this.dataDir);
  }
}

function treesInTheMaking(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .map((name) => `${folder}/${name}/tree`)
    .filter((tree) => existsSync(tree));
}

function readNumber(path: string): number {
  return Number(readFileSync(path, "utf8"));
}
