import { ptr } from "bun:ffi";
import { cstring, hasErrno, ioctl, withDirectory } from "./libc.ts";

/** btrfs through its ioctls: a `btrfs` process takes 2 ms, these calls a fraction of it. Numbers and layouts: include/uapi/linux/btrfs.h. */

const IOC = {
  INO_LOOKUP: 0xd0009412,
  FS_INFO: 0x8400941f,
  SUBVOL_CREATE_V2: 0x50009418,
  SNAP_CREATE_V2: 0x50009417,
  SNAP_DESTROY_V2: 0x5000943f,
  INO_PATHS: 0xc0389423,
  QUOTA_CTL: 0xc0109428,
  QGROUP_CREATE: 0x4010942a,
  QGROUP_LIMIT: 0x8030942b,
} as const;

const QUOTA_ENABLE = 1n;
const QUOTA_ENABLE_SIMPLE = 4n;
const SUBVOL_READ_ONLY = 2n;
const SUBVOL_QGROUP_INHERIT = 4n;
const INHERIT_SET_LIMITS = 1n;
const LIMIT_MAX_REFERENCED = 1n;
/** Inode number of every subvolume's top directory. */
const FIRST_FREE_OBJECTID = 256n;

/** struct btrfs_ioctl_vol_args_v2. */
const VOL_ARGS = { bytes: 4096, flags: 16, inheritSize: 24, inheritPointer: 32, name: 56, nameBytes: 4040 } as const;

export type QuotaMode = "simple" | "full";

function volArgs(name: string): DataView {
  const bytes = new Uint8Array(VOL_ARGS.bytes);
  const text = cstring(name);
  if (text.byteLength > VOL_ARGS.nameBytes) throw new RangeError("subvolume name too long");
  bytes.set(text, VOL_ARGS.name);
  return new DataView(bytes.buffer);
}

/**
 * Makes the subvolume `parent/name`. With `limitBytes` it gets its limit in the same transaction, so that it never exists without a limit.
 * Failures are `KernelError`s; EEXIST when the name exists.
 */
export function createSubvolume(parent: string, name: string, limitBytes?: number): void {
  const args = volArgs(name);
  // struct btrfs_qgroup_inherit; referenced until the call returns, because the kernel follows the pointer to it.
  const inherit = new BigUint64Array(9);
  if (limitBytes !== undefined) {
    inherit[0] = INHERIT_SET_LIMITS;
    inherit[4] = LIMIT_MAX_REFERENCED;
    inherit[5] = BigInt(limitBytes);
    args.setBigUint64(VOL_ARGS.flags, SUBVOL_QGROUP_INHERIT, true);
    args.setBigUint64(VOL_ARGS.inheritSize, BigInt(inherit.byteLength), true);
    args.setBigUint64(VOL_ARGS.inheritPointer, BigInt(ptr(inherit)), true);
  }
  withDirectory(parent, (fd) => ioctl(fd, IOC.SUBVOL_CREATE_V2, new Uint8Array(args.buffer), `create subvolume ${parent}/${name}`));
}

/** Makes `parent/name` a snapshot of the subvolume at `source`, with everything that has been written to it so far. */
export function snapshotSubvolume(source: string, parent: string, name: string, { readOnly = false } = {}): void {
  const args = volArgs(name);
  if (readOnly) args.setBigUint64(VOL_ARGS.flags, SUBVOL_READ_ONLY, true);
  withDirectory(source, (from) => {
    args.setBigInt64(0, BigInt(from), true);
    withDirectory(parent, (fd) => ioctl(fd, IOC.SNAP_CREATE_V2, new Uint8Array(args.buffer), `snapshot ${source} to ${parent}/${name}`));
  });
}

/**
 * The call of `snapshotSubvolume`, for a program of the fork server: the number of the ioctl for the parent's descriptor, and its argument, whose first
 * word is to be the source's descriptor.
 */
export const snapshotCall = (name: string) => ({ request: IOC.SNAP_CREATE_V2, argument: new BigUint64Array(volArgs(name).buffer) });

/** Deletes the subvolume `parent/name`; its blocks are freed in the background. ENOENT when there is none. */
export function destroySubvolume(parent: string, name: string): void {
  const args = new Uint8Array(volArgs(name).buffer);
  withDirectory(parent, (fd) => ioctl(fd, IOC.SNAP_DESTROY_V2, args, `delete subvolume ${parent}/${name}`));
}

/** Id of the subvolume that contains `path`; also the id of its qgroup (level 0). */
export function subvolumeId(path: string): bigint {
  const args = new BigUint64Array(512);
  args[1] = FIRST_FREE_OBJECTID;
  withDirectory(path, (fd) => ioctl(fd, IOC.INO_LOOKUP, args, path));
  return args[0] as bigint;
}

/** Size of the buffer for the paths of one inode; the kernel returns as many whole paths as fit. */
const PATHS_BYTES = 65_536;

/** Paths of an inode below the top of the subvolume, as byte strings; none when the subvolume does not have the inode. */
export function inodePaths(subvolume: string, inode: bigint): string[] {
  // struct btrfs_data_container: bytes left and missing, elements and missed ones (32 bits each), then offsets from its 16th byte on.
  const found = new Uint8Array(PATHS_BYTES);
  const args = new BigUint64Array([inode, BigInt(found.byteLength), 0n, 0n, 0n, 0n, BigInt(ptr(found))]);
  try {
    withDirectory(subvolume, (fd) => ioctl(fd, IOC.INO_PATHS, args, `paths of inode ${inode}`));
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return [];
    throw error;
  }
  const view = new DataView(found.buffer);
  const START = 16;
  return Array.from({ length: view.getUint32(8, true) }, (_, i) => {
    const at = START + Number(view.getBigUint64(START + i * 8, true));
    return Buffer.from(found.subarray(at, found.indexOf(0, at))).toString("latin1");
  });
}

/** UUID of the file system at `path`: the name of its directory in /sys/fs/btrfs. */
export function filesystemId(path: string): string {
  const info = new Uint8Array(1024);
  withDirectory(path, (fd) => ioctl(fd, IOC.FS_INFO, info, path));
  const hex = Buffer.from(info.subarray(16, 32)).toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Turns quotas on: `simple` (kernel 6.7 and later) or `full`. Quotas that are on stay as they are. */
export function enableQuota(path: string, mode: QuotaMode): void {
  const args = new BigUint64Array([mode === "simple" ? QUOTA_ENABLE_SIMPLE : QUOTA_ENABLE, 0n]);
  withDirectory(path, (fd) => ioctl(fd, IOC.QUOTA_CTL, args, `enable ${mode} quotas of ${path}`));
}

/** Sets how many bytes the subvolume with this id may hold. */
export function setQgroupLimit(path: string, id: bigint, limitBytes: number): void {
  const args = new BigUint64Array([id, LIMIT_MAX_REFERENCED, BigInt(limitBytes), 0n, 0n, 0n]);
  withDirectory(path, (fd) => ioctl(fd, IOC.QGROUP_LIMIT, args, `limit qgroup ${id}`));
}

/**
 * Removes the qgroup of a deleted subvolume. False when the kernel will not yet (EBUSY: newer kernels remove it themselves once the
 * blocks are freed); true when it is gone.
 */
export function removeQgroup(path: string, id: bigint): boolean {
  try {
    withDirectory(path, (fd) => ioctl(fd, IOC.QGROUP_CREATE, new BigUint64Array([0n, id]), `remove qgroup ${id}`));
    return true;
  } catch (error) {
    if (hasErrno(error, "ENOENT", "ENOTCONN")) return true;
    if (hasErrno(error, "EBUSY")) return false;
    throw error;
  }
}
