import { accessSync, chmodSync, constants, existsSync, mkdirSync, readFileSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { fromErrno } from "@boxyard/core/node";
import { mountRuntimeState, runtimeStateIn } from "../runtime/state-mount.ts";
import { enableQuota, filesystemId } from "../sys/btrfs.ts";
import { lockFile } from "../sys/file-lock.ts";
import { close, hasErrno, MS, mount, umount2 } from "../sys/libc.ts";
import { attachLoop, findLoop } from "../sys/loop.ts";
import { isMountPoint } from "../sys/mount-points.ts";
import { isHeldBySandboxes } from "./holders.ts";
import { poolPaths } from "./paths.ts";

const BTRFS_ROOT_INODE = 256;
const BTRFS_MAGIC = 0x9123683e;
/** Blocks freed in the pool become free on the machine's disk (`discard`); access times would turn every read into a write. */
const MOUNT_DATA = "discard=async";
/** What sandboxes and images leave there must work for them (overlay has flags of its own), and never for the machine's users. */
const POOL_FLAGS = MS.NOATIME | MS.NODEV | MS.NOSUID;

/** True when the pool of this data directory is mounted, seen from our mount namespace. */
export function isPoolMounted(dataDir: string): boolean {
  const { root } = poolPaths(dataDir);
  return existsSync(root) && statfsSync(root).type === BTRFS_MAGIC && isMountPoint(root);
}

/**
 * True when the pool is mounted and takes no writes: btrfs does that for good when the disk below it has failed it. Mounted anew, with room on that
 * disk, it is whole again.
 */
export function isPoolReadOnly(dataDir: string): boolean {
  if (!isPoolMounted(dataDir)) return false;
  return isReadOnly(poolPaths(dataDir).root);
}

/** True when `root` is the root of a btrfs, as a mounted pool is. Asked many times a second, so without a look at all mounts of the machine. */
export function isMountedAt(root: string): boolean {
  return statSync(root).ino === BTRFS_ROOT_INODE;
}

export function isReadOnly(root: string): boolean {
  try {
    accessSync(root, constants.W_OK);
    return false;
  } catch (error) {
    if (hasErrno(error, "EROFS")) return true;
    throw error;
  }
}

/**
 * Mounts the pool unless it is mounted, and beside it what the runtimes keep for the boot (`mountRuntimeState`), and makes sure of its quotas, of its directories, and that the mount is a shared one (mounts below it
 * must reach the mount namespace that crun lives in on hybrid machines). Repeatable, and safe beside another process that does the same.
 */
export async function mountPool(dataDir: string): Promise<void> {
  const paths = poolPaths(dataDir);
  // One that was deleted while it is mounted holds all that it held until it is unmounted.
  const hasFile = existsSync(paths.image);
  if (!hasFile && !isPoolMounted(dataDir)) {
    throw new AppError("failed_precondition", `there is no storage pool at ${paths.image}: run 'boxyard setup'`, { reason: "no_pool" });
  }
  const lock = await lockFile(paths.lock);
  try {
    // Held by sandboxes it would not come back: the kernel mounts what it has given up only when nobody uses it any more.
    if (hasFile && isPoolReadOnly(dataDir) && !isHeldBySandboxes(dataDir)) tryUnmount(paths.root);
    if (!isPoolMounted(dataDir)) await mountOnceFree(paths.image, paths.root);
    mountRuntimeState(dataDir);
    // The disk below it is still full, or sandboxes hold it: what can be done without writing (ending them, releasing it) goes on.
    if (isPoolReadOnly(dataDir)) return;
    // The rest repairs what a process killed right after the mount, or an older version, has left undone.
    mount("none", paths.root, null, MS.REMOUNT | MS.BIND | POOL_FLAGS);
    mount("none", paths.root, null, MS.SHARED);
    ensureQuota(paths.root);
    useSmallChunks(paths.root);
    chmodSync(paths.root, 0o700);
    for (const directory of ["layers", "sandboxes", "generations", "snapshots"]) {
      mkdirSync(`${paths.root}/${directory}`, { recursive: true, mode: 0o700 });
      // Layers keep plain owners and set-user-id programs: nobody on the machine but root may come near them.
      chmodSync(`${paths.root}/${directory}`, 0o700);
    }
  } catch (error) {
    throw fromErrno(`mount the storage pool ${paths.image}`, error);
  } finally {
    lock.release();
  }
}

function tryUnmount(root: string): void {
  try {
    umount2(root);
  } catch (error) {
    if (!hasErrno(error, "EBUSY")) throw error;
  }
}

/** Sandboxes that held a file system which the kernel has given up may be ending just now; until they have ended, the same one cannot be mounted. */
async function mountOnceFree(image: string, root: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      mountImage(image, root);
      return;
    } catch (error) {
      if (!hasErrno(error, "EINVAL") || attempt === 20) throw error;
      await Bun.sleep(100);
    }
  }
}

function mountImage(image: string, root: string): void {
  mkdirSync(root, { recursive: true, mode: 0o700 });
  // Two loop devices of one file would be two disks with one content: never attach a second one.
  const existing = findLoop(image);
  const loop = existing === undefined ? attachLoop(image) : undefined;
  try {
    mount(loop?.device ?? (existing as string), root, "btrfs", POOL_FLAGS, MOUNT_DATA);
  } finally {
    if (loop) close(loop.fd);
  }
}

/** The least that the kernel allows. What is free within chunks is allocated ahead: small ones keep little. */
const CHUNK_BYTES = 256 * 2 ** 20;

function useSmallChunks(root: string): void {
  for (const kind of ["data", "metadata"]) {
    const file = `/sys/fs/btrfs/${filesystemId(root)}/allocation/${kind}/chunk_size`;
    // Kernels before 6.0 have no say in it.
    if (existsSync(file)) writeFileSync(file, `${CHUNK_BYTES}`);
  }
}

function ensureQuota(root: string): void {
  if (quotaMode(root) !== undefined) return;
  try {
    // Simple quotas (kernel 6.7) charge an extent to its first writer: no walk over back references when sandboxes come and go.
    enableQuota(root, "simple");
  } catch (error) {
    if (!hasErrno(error, "EINVAL", "EOPNOTSUPP")) throw error;
    enableQuota(root, "full");
  }
}

/** How the kernel counts on this file system; undefined while it does not. */
export function quotaMode(root: string): "simple" | "full" | undefined {
  const directory = `/sys/fs/btrfs/${filesystemId(root)}/qgroups`;
  if (!existsSync(directory)) return undefined;
  // Kernels without simple quotas have no `mode`.
  if (!existsSync(`${directory}/mode`)) return "full";
  return readFileSync(`${directory}/mode`, "utf8").trim() === "squota" ? "simple" : "full";
}

/** How long to wait for another process's mount namespace that has a copy of our mount (a container that is just starting, say). */
const LOOP_GONE_MS = 2000;

/** Unmounts the pool and what was mounted with it; its loop device closes the file by itself. Busy is `failed_precondition`, reason `pool_busy`. Repeatable. */
export async function unmountPool(dataDir: string): Promise<void> {
  const { image, lock: lockPath, root } = poolPaths(dataDir);
  const runtimeState = runtimeStateIn(dataDir);
  if (!isPoolMounted(dataDir) && !isMountPoint(runtimeState)) return;
  const lock = await lockFile(lockPath);
  try {
    // The pool last: by that others tell whether there is something to release.
    await unmountOnceFree(runtimeState, () => isMountPoint(runtimeState));
    await unmountOnceFree(root, () => isPoolMounted(dataDir));
    for (let waited = 0; waited < LOOP_GONE_MS && findLoop(image) !== undefined; waited += 20) await Bun.sleep(20);
  } finally {
    lock.release();
  }
}

/** Something may have it open for a moment (a scanner, a command that ends just now). */
async function unmountOnceFree(path: string, isMounted: () => boolean): Promise<void> {
  for (let attempt = 0; isMounted(); attempt++) {
    try {
      umount2(path);
    } catch (error) {
      if (!hasErrno(error, "EBUSY")) throw fromErrno(`unmount ${path}`, error);
      if (attempt === 20) throw busy(path, error);
      await Bun.sleep(100);
    }
  }
}

const busy = (path: string, cause: unknown) =>
  new AppError("failed_precondition", `${path} is in use: find the holder with 'fuser -vm ${path}'`, { reason: "pool_busy", cause });
