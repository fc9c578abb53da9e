import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { CLONE, close, hasErrno, inNetworkNamespace, MNT_DETACH, MS, mount, O, open, setns, umount2, unshare } from "../sys/libc.ts";

/** The router's network namespace, kept by a mount on a file, as `ip netns` does: it needs no process and outlives the server. */

/** A descriptor of the namespace kept at `file`; undefined when none is. */
export function openNamespace(file: string): number | undefined {
  let fd: number;
  try {
    fd = open(file, O.RDONLY);
  } catch (error) {
    if (hasErrno(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
  try {
    // A plain file (left by a reboot, or by a server that died before the mount) is not a namespace.
    inNetworkNamespace(fd, () => {});
    return fd;
  } catch (error) {
    close(fd);
    if (hasErrno(error, "EINVAL")) return undefined;
    throw error;
  }
}

/** Makes a network namespace, mounts it on `file` and returns a descriptor of it. This thread is in its own namespace again on return. */
export function makeNamespace(file: string): number {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  close(open(file, O.RDONLY | O.CREAT, 0o400));
  const own = open("/proc/thread-self/ns/net", O.RDONLY);
  try {
    unshare(CLONE.NEWNET);
    try {
      mount("/proc/thread-self/ns/net", file, null, MS.BIND);
      return open(file, O.RDONLY);
    } finally {
      setns(own, CLONE.NEWNET);
    }
  } finally {
    close(own);
  }
}

/** Releases the namespace: it ends when nothing uses it any more. Repeatable. */
export function dropNamespace(file: string): void {
  // There are several mounts when two processes made one at the same time, or when the directory was bind-mounted on itself.
  for (let i = 0; i < 8 && existsSync(file); i++) {
    try {
      umount2(file, MNT_DETACH);
    } catch (error) {
      if (hasErrno(error, "EINVAL", "ENOENT")) break;
      throw error;
    }
  }
  rmSync(file, { force: true });
}
