import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { close, hasErrno, ioctl, O, open } from "./libc.ts";

/** Loop devices: a file that the kernel treats as a disk. Numbers and layouts from the kernel's include/uapi/linux/loop.h. */

const LOOP_CTL_GET_FREE = 0x4c82;
const LOOP_CONFIGURE = 0x4c0a;
const LO_FLAGS_AUTOCLEAR = 4;
const LO_FLAGS_DIRECT_IO = 16;

/** Size of struct loop_config, and the offsets of its fields. */
const CONFIG_BYTES = 304;
const AT = { fd: 0, blockSize: 4, flags: 60, fileName: 64, fileNameBytes: 64 } as const;

/** The sector size of btrfs; the kernel also needs it for direct I/O on disks with 4 KiB sectors. */
const BLOCK_SIZE = 4096;

export interface AttachedLoop {
  /** `/dev/loop3`. */
  readonly device: string;
  /** The caller keeps it open until the device is mounted: with autoclear the device detaches at the last close. */
  readonly fd: number;
}

/** The device that `file` is attached to, for example `/dev/loop3`; undefined when there is none, or when the file was deleted. */
export function findLoop(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  const wanted = realpathSync(file);
  for (const name of readdirSync("/sys/block")) {
    if (!name.startsWith("loop")) continue;
    if (backingFile(name) === wanted) return `/dev/${name}`;
  }
  return undefined;
}

function backingFile(name: string): string | undefined {
  try {
    return readFileSync(`/sys/block/${name}/loop/backing_file`, "utf8").trimEnd();
  } catch {
    return undefined; // Not attached (then the directory does not exist), or detached at this moment.
  }
}

/**
 * Attaches `file` to a free loop device, with direct I/O where the file's own disk allows it (no second copy of every page in memory), and with
 * autoclear, so that the device detaches when it is unmounted, or when the server dies before it is mounted.
 */
export function attachLoop(file: string): AttachedLoop {
  const backing = open(file, O.RDWR);
  try {
    for (let attempt = 0; ; attempt++) {
      const attached = tryAttach(file, backing);
      if (attached) return attached;
      if (attempt === 20) throw new Error(`attach ${file}: other programs took every free loop device first`);
    }
  } finally {
    close(backing);
  }
}

function tryAttach(file: string, backing: number): AttachedLoop | undefined {
  const control = open("/dev/loop-control", O.RDWR);
  let number: number;
  try {
    number = ioctl(control, LOOP_CTL_GET_FREE, 0, "loop-control");
  } finally {
    close(control);
  }
  const device = `/dev/loop${number}`;
  const fd = open(device, O.RDWR);
  for (const directIo of [LO_FLAGS_DIRECT_IO, 0]) {
    try {
      ioctl(fd, LOOP_CONFIGURE, loopConfig(file, backing, LO_FLAGS_AUTOCLEAR | directIo), device);
      return { device, fd };
    } catch (error) {
      if (directIo && hasErrno(error, "EINVAL")) continue; // The file's disk does not support direct I/O: use the page cache.
      close(fd);
      if (hasErrno(error, "EBUSY")) return undefined; // Another program took it between the two calls.
      throw error;
    }
  }
  return undefined;
}

function loopConfig(file: string, backing: number, flags: number): Uint8Array {
  const bytes = new Uint8Array(CONFIG_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(AT.fd, backing, true);
  view.setUint32(AT.blockSize, BLOCK_SIZE, true);
  view.setUint32(AT.flags, flags, true);
  bytes.set(new TextEncoder().encode(file).subarray(0, AT.fileNameBytes - 1), AT.fileName);
  return bytes;
}
