import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
} from "node:fs";
import { AppError } from "@boxyard/core";
import { PinnedDir } from "../path/pinned-dir.ts";
import { setTimes } from "../sys/times.ts";
import { getXattr, listXattr, setXattr } from "../sys/xattr.ts";
import { TimeSlice } from "../time-slice.ts";
import { copyData } from "./copy-data.ts";
import { HardLinks } from "./hard-links.ts";

/** Levels that are copied; each holds two descriptors. */
const DEPTH = 256;
const NO_LINK = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const SLASH = Buffer.from("/");

/** One entry to copy. Names are bytes, because they may not be UTF-8. */
interface Item {
  readonly from: PinnedDir;
  readonly name: Buffer;
  readonly to: PinnedDir;
  readonly newName: Buffer;
  /** Path of the copy, relative to the directory that holds the whole copy. */
  readonly path: Buffer;
  readonly depth: number;
}

/** What all items of one copy share. */
interface Copy {
  readonly links: HardLinks;
  readonly slice: TimeSlice;
}

/**
 * Copies an entry with everything below it into another directory, for a move that rename(2) refuses: to another file system, or of a directory
 * of the template. Owners, modes, times, links, holes and attributes are kept; data is shared or copied in the kernel. Throws
 * `failed_precondition` for sockets, FIFOs and devices, and the kernel's errors. After a failure a part of the copy is left at `to`.
 */
export function copyTree(from: PinnedDir, name: string, to: PinnedDir, newName: string): Promise<void> {
  const path = Buffer.from(newName);
  const copy = { links: new HardLinks(to), slice: new TimeSlice() };
  return copyItem(copy, { from, name: Buffer.from(name), to, newName: path, path, depth: 0 });
}

async function copyItem(copy: Copy, item: Item): Promise<void> {
  const turn = copy.slice.turn();
  if (turn) await turn;
  const { from, name, to, newName } = item;
  const stat = lstatSync(from.at(name), { bigint: true, throwIfNoEntry: false });
  if (!stat) return;
  if (item.depth > DEPTH) throw new AppError("failed_precondition", `more than ${DEPTH} nested directories`, { reason: "too_deep" });
  if (stat.isSymbolicLink()) {
    symlinkSync(readlinkSync(from.at(name), "buffer"), to.at(newName));
    lchownSync(to.at(newName), Number(stat.uid), Number(stat.gid));
  } else if (stat.isDirectory()) await copyDir(copy, item, stat);
  else if (stat.isFile()) await copyFile(copy, item);
  else throw new AppError("failed_precondition", `'${name}' is a socket, FIFO or device and can't be copied`, { reason: "special_file" });
  setTimes(to.fd, newName, stat);
}

async function copyDir(copy: Copy, { from, name, to, newName, path, depth }: Item, stat: BigIntStats): Promise<void> {
  mkdirSync(to.at(newName), 0o700);
  const source = new PinnedDir(openSync(from.at(name), NO_LINK | constants.O_DIRECTORY));
  try {
    const target = new PinnedDir(openSync(to.at(newName), NO_LINK | constants.O_DIRECTORY));
    try {
      for (const child of readdirSync(`/proc/self/fd/${source.fd}`, "buffer") as Buffer[]) {
        const below = Buffer.concat([path, SLASH, child]);
        await copyItem(copy, { from: source, name: child, to: target, newName: child, path: below, depth: depth + 1 });
      }
      copyAttributes(`/proc/self/fd/${source.fd}`, target.fd);
      fchownSync(target.fd, Number(stat.uid), Number(stat.gid));
      chmodSync(`/proc/self/fd/${target.fd}`, Number(stat.mode) & 0o7777);
    } finally {
      target.close();
    }
  } finally {
    source.close();
  }
}

async function copyFile({ links, slice }: Copy, { from, name, to, newName, path }: Item): Promise<void> {
  const source = openSync(from.at(name), NO_LINK);
  try {
    const stat = fstatSync(source, { bigint: true });
    if (links.link(stat, to, newName)) return;
    const target = openSync(to.at(newName), constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      await copyData(source, target, { size: Number(stat.size), blocks: Number(stat.blocks) }, slice);
      fchownSync(target, Number(stat.uid), Number(stat.gid));
      fchmodSync(target, Number(stat.mode) & 0o7777);
      copyAttributes(`/proc/self/fd/${source}`, target);
      links.add(stat, path, fstatSync(target, { bigint: true }));
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
