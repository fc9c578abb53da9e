import { statfsSync } from "node:fs";
import { sharedMemoryOf } from "../rootfs/in-memory.ts";
import { isAlive } from "../runtime/process.ts";
import type { ProcessIdentity } from "../state/record.ts";
import { openInside, RESOLVE } from "../sys/at.ts";
import { close, hasErrno, KernelError, O, open, syscall } from "../sys/libc.ts";

const TMPFS_MAGIC = 0x01021994;
const FSPICK_CLOEXEC = 1;
const FSPICK_EMPTY_PATH = 8;
const FSCONFIG_SET_STRING = 1;
const FSCONFIG_CMD_RECONFIGURE = 7;

/**
 * Gives `/dev/shm` of a running sandbox the size that goes with its memory; where it holds more, it gets as much as it holds. `init`: the sandbox's
 * first process. The file system is changed by a descriptor, without entering the sandbox's mounts. Nothing happens where the sandbox has no such file
 * system (any more).
 */
export function resizeSharedMemory(init: ProcessIdentity, memoryBytes: number): void {
  const root = open(`/proc/${init.pid}/root`, O.PATH | O.DIRECTORY);
  try {
    // Opened first, checked then: the root is not that of a later process with this pid.
    if (!isAlive(init)) return;
    const directory = openInside(root, "dev/shm", O.PATH | O.DIRECTORY, RESOLVE.noLinks);
    try {
      resizeAt(directory, memoryBytes);
    } finally {
      close(directory);
    }
  } catch (error) {
    // Programs inside cannot change their mounts; should one have found a way, the resize itself does not fail by it.
    if (!hasErrno(error, "ENOENT", "ENOTDIR", "ELOOP", "EXDEV")) throw error;
  } finally {
    close(root);
  }
}

function resizeAt(directory: number, memoryBytes: number): void {
  const { type, bsize, blocks, bfree, files, ffree } = statfsSync(`/proc/self/fd/${directory}`);
  if (type !== TMPFS_MAGIC) return;
  const wanted = sharedMemoryOf(memoryBytes);
  const context = pick(directory);
  if (context === undefined) return;
  try {
    set(context, "size", Math.max(wanted.bytes, (blocks - bfree) * bsize));
    set(context, "nr_inodes", Math.max(wanted.files, files - ffree));
    syscall("fsconfig", [context, FSCONFIG_CMD_RECONFIGURE, null, null, 0], "/dev/shm");
  } finally {
    close(context);
  }
}

/** Undefined when the directory is no root of a file system. */
function pick(directory: number): number | undefined {
  try {
    return syscall("fspick", [directory, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH], "/dev/shm");
  } catch (error) {
    if (error instanceof KernelError && error.code === "EINVAL") return undefined;
    throw error;
  }
}

const set = (context: number, name: string, value: number) =>
  syscall("fsconfig", [context, FSCONFIG_SET_STRING, name, String(value), 0], name);
