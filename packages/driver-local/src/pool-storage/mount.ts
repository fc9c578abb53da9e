import { accessSync, chmodSync, constants, existsSync, mkdirSync, readFileSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { fromErrno } from "@boxyard/core/node";
import { mountRuntimeState, runtimeStateIn } from "../state/state-mount.ts";
import { enableQuota, filesystemId } from "../sys/btrfs.ts";
import { lockFile } from "../sys/file-lock.ts";
import { close, hasErrno, MS, mount, umount2 } from "../sys/libc.ts";
import { attachLoop, findLoop } from "../sys/loop.ts";
import { isMountPoint } from "../sys/mount-points.ts";
import { isHeldBySandboxes } from "./holders.ts";
import { poolPaths } from "./paths.ts";

const BTRFS_ROOT_INODE = 256;
const BTRFS_MAGIC = 0x9123683e;
/** Blocks freed in the pool become free on the machine's disk. */
const MOUNT_DATA = "discard=async";
/**
 * Access times would turn every read into a write. Device files and set-user-id programs of sandboxes and images work in sandboxes (overlay has
 * its own flags), and must not work for the machine's users.
 */
const POOL_FLAGS = MS.NOATIME | MS.NODEV | MS.NOSUID;

/** True when the pool of this data directory is mounted in this mount namespace. */
export function isPoolMounted(dataDir: string): boolean {
  const { root } = poolPaths(dataDir);
  return existsSync(root) && statfsSync(root).type === BTRFS_MAGIC && isMountPoint(root);
}

/**
 * True when the pool is mounted read-only: btrfs makes itself read-only until it is unmounted when a write to the disk below it has failed. When
 * there is room on that disk, the pool can be mounted again and is whole.
 */
export function isPoolReadOnly(dataDir: string): boolean {
  if (!isPoolMounted(dataDir)) return false;
  return isReadOnly(poolPaths(dataDir).root);
}

/** True when `root` is the root of a btrfs, as a mounted pool is. Called many times a second, so it does not read the machine's list of mounts. */
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
 * Mounts the pool unless it is mounted, and the file system for the state of the runtimes (`mountRuntimeState`). Ensures the pool's quotas and
 * directories, and that its mount is shared (mounts below it must reach the mount namespace that crun lives in on hybrid machines). Repeatable, and
 * safe while another process does the same. `failed_precondition`, reason `no_pool`, when there is no pool.
 */
export async function mountPool(dataDir: string): Promise<void> {
  const paths = poolPaths(dataDir);
  // A pool whose file was deleted while it is mounted can be used until it is unmounted.
  const hasFile = existsSync(paths.image);
  if (!hasFile && !isPoolMounted(dataDir)) {
    throw new AppError("failed_precondition", `there is no storage pool at ${paths.image}: run 'boxyard setup'`, { reason: "no_pool" });
  }
  const lock = await lockFile(paths.lock);
  try {
    // Not while sandboxes use it: the kernel mounts a file system that has failed only after its last user has ended.
    if (hasFile && isPoolReadOnly(dataDir) && !isHeldBySandboxes(dataDir)) tryUnmount(paths.root);
    if (!isPoolMounted(dataDir)) await mountOnceFree(paths.image, paths.root);
    mountRuntimeState(dataDir);
    // The disk below it is still full, or sandboxes use the pool. Ending sandboxes and releasing the pool work without writes.
    if (isPoolReadOnly(dataDir)) return;
    // The rest is needed after the mount, also when another process was killed right after it, or an older version made it.
    mount("none", paths.root, null, MS.REMOUNT | MS.BIND | POOL_FLAGS);
    mount("none", paths.root, null, MS.SHARED);
    ensureQuota(paths.root);
    useSmallChunks(paths.root);
    chmodSync(paths.root, 0o700);
    for (const directory of ["layers", "sandboxes", "generations", "snapshots", "volumes"]) {
      mkdirSync(`${paths.root}/${directory}`, { recursive: true, mode: 0o700 });
      // Files of layers have the owners of the image, and set-user-id programs: only root may reach them on the machine.
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

/** Sandboxes that use the failed file system may be ending at this moment. Until they have ended, it cannot be mounted again. */
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
  // btrfs would take two loop devices of one file for two disks: never attach a second one.
  const existing = findLoop(image);
  const loop = existing === undefined ? attachLoop(image) : undefined;
  try {
    mount(loop?.device ?? (existing as string), root, "btrfs", POOL_FLAGS, MOUNT_DATA);
  } finally {
    if (loop) close(loop.fd);
  }
}

/** The kernel's minimum. Free space within chunks is allocated ahead, and small chunks have little of it. */
const CHUNK_BYTES = 256 * 2 ** 20;

function useSmallChunks(root: string): void {
  for (const kind of ["data", "metadata"]) {
    const file = `/sys/fs/btrfs/${filesystemId(root)}/allocation/${kind}/chunk_size`;
    // Kernels before 6.0 do not have this setting.
    if (existsSync(file)) writeFileSync(file, `${CHUNK_BYTES}`);
  }
}

function ensureQuota(root: string): void {
  if (quotaMode(root) !== undefined) return;
  try {
    // Simple quotas (kernel 6.7) charge an extent to its first writer: no walk over back references when sandboxes are made and removed.
    enableQuota(root, "simple");
  } catch (error) {
    if (!hasErrno(error, "EINVAL", "EOPNOTSUPP")) throw error;
    enableQuota(root, "full");
  }
}

/** How the kernel counts space on this file system; undefined while quotas are off. */
export function quotaMode(root: string): "simple" | "full" | undefined {
  const directory = `/sys/fs/btrfs/${filesystemId(root)}/qgroups`;
  if (!existsSync(directory)) return undefined;
  // Kernels without simple quotas have no `mode`.
  if (!existsSync(`${directory}/mode`)) return "full";
  return readFileSync(`${directory}/mode`, "utf8").trim() === "squota" ? "simple" : "full";
}

/** How long to wait while another mount namespace has a copy of this mount (of a container that is just starting, for example). */
const LOOP_GONE_MS = 2000;

/**
 * Unmounts the pool and the file system of the runtimes' state; the loop device detaches by itself. Repeatable. `failed_precondition`, reason
 * `pool_busy`, when one of them is in use.
 */
export async function unmountPool(dataDir: string): Promise<void> {
  const { image, lock: lockPath, root } = poolPaths(dataDir);
  const runtimeState = runtimeStateIn(dataDir);
  if (!isPoolMounted(dataDir) && !isMountPoint(runtimeState)) return;
  const lock = await lockFile(lockPath);
  try {
    // The pool last: its mount is the sign that something is to be released.
    await unmountOnceFree(runtimeState, () => isMountPoint(runtimeState));
    await unmountOnceFree(root, () => isPoolMounted(dataDir));
    for (let waited = 0; waited < LOOP_GONE_MS && findLoop(image) !== undefined; waited += 20) await Bun.sleep(20);
  } finally {
    lock.release();
  }
}

/** Retries while another process has it open for a moment (a scanner, a command that is just ending). */
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
