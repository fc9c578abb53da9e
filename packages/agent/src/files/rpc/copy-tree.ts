import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  futimesSync,
  lchownSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  type Stats,
  symlinkSync,
  utimesSync,
} from "node:fs";
import { AppError } from "@boxyard/core";
import { Appender } from "../compose/append.ts";
import { PinnedDir } from "../path/pinned-dir.ts";
import { getXattr, listXattr, setXattr } from "../sys/xattr.ts";

/** Levels that are copied; each holds two descriptors. */
const DEPTH = 256;
const NO_LINK = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Copies a name with everything below it into another directory, for a move that the kernel can't do by renaming: to another file system,
 * or a directory that comes from the template. Owners, modes, times, links and attributes go along; data is shared or copied in the
 * kernel. Throws `failed_precondition` for sockets, FIFOs and devices, and the kernel's errors. A failure leaves a part at `to`.
 */
export async function copyTree(from: PinnedDir, name: string, to: PinnedDir, newName: string, depth = 0): Promise<void> {
  const stat = from.lstat(name);
  if (!stat) throw Object.assign(new Error("gone while it was moved"), { code: "ENOENT" });
  if (depth > DEPTH) throw new AppError("failed_precondition", `more than ${DEPTH} nested directories`, { reason: "too_deep" });
  if (stat.isSymbolicLink()) {
    symlinkSync(readlinkSync(from.at(name)), to.at(newName));
    lchownSync(to.at(newName), stat.uid, stat.gid);
  } else if (stat.isDirectory()) await copyDir(from, name, to, newName, depth, stat);
  else if (stat.isFile()) await copyFile(from, name, to, newName);
  else throw new AppError("failed_precondition", `'${name}' is a socket, FIFO or device and can't be copied`, { reason: "special_file" });
}

async function copyDir(from: PinnedDir, name: string, to: PinnedDir, newName: string, depth: number, stat: Stats): Promise<void> {
  mkdirSync(to.at(newName), 0o700);
  const source = new PinnedDir(openSync(from.at(name), NO_LINK | constants.O_DIRECTORY));
  try {
    const target = new PinnedDir(openSync(to.at(newName), NO_LINK | constants.O_DIRECTORY));
    try {
      for (const child of readdirSync(`/proc/self/fd/${source.fd}`)) await copyTree(source, child, target, child, depth + 1);
      copyAttributes(`/proc/self/fd/${source.fd}`, target.fd);
      fchownSync(target.fd, stat.uid, stat.gid);
      chmodSync(`/proc/self/fd/${target.fd}`, stat.mode & 0o7777);
      utimesSync(`/proc/self/fd/${target.fd}`, stat.atimeMs / 1000, stat.mtimeMs / 1000);
    } finally {
      target.close();
    }
  } finally {
    source.close();
  }
}

async function copyFile(from: PinnedDir, name: string, to: PinnedDir, newName: string): Promise<void> {
  const source = openSync(from.at(name), NO_LINK);
  try {
    const stat = fstatSync(source);
    const target = openSync(to.at(newName), constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      await new Appender(target).append(source, stat.size);
      fchownSync(target, stat.uid, stat.gid);
      fchmodSync(target, stat.mode & 0o7777);
      copyAttributes(`/proc/self/fd/${source}`, target);
      futimesSync(target, stat.atimeMs / 1000, stat.mtimeMs / 1000);
    } finally {
      closeSync(target);
    }
  } finally {
    closeSync(source);
  }
}

function copyAttributes(from: string, to: number): void {
  for (const name of listXattr(from)) {
    const value = name.startsWith("trusted.") ? undefined : getXattr(from, name);
    if (value) setXattr(to, name, value);
  }
}
