import {
  chmodAt,
  chownAt,
  fchmod,
  fchown,
  getXattr,
  isWhiteout,
  listXattrs,
  namesIn,
  removeTree,
  removeXattr,
  renameAt,
  rmdirAt,
  S_IFMT,
  type Stat,
  setXattr,
  statAt,
  statFd,
  TYPE,
  typeOf,
  unlinkAt,
  utimesFd,
  withOpen,
} from "../sys/at.ts";
import { hasErrno, O } from "../sys/libc.ts";
import { CAPABILITY, isAcl, isKept, OPAQUE, plainCapability, shiftedAcl } from "./attributes.ts";
import { partsOf } from "./byte-paths.ts";

const RANGE_SIZE = 65_536;
const NOBODY = 65_534;
/** Mode bits that the kernel clears when the owner changes. */
const SET_ID = 0o6000;

/**
 * Turns the volume at `root` (a snapshot of a sandbox's volume, with `upper/` and `work/`) into the tree of a layer: the content of `upper` moves
 * to the top, ids of the range that begins at `base` become plain ids, and overlay's own attributes are removed. One pass over what the sandbox
 * has changed; no data is copied. A hostile sandbox wrote the tree, but no other process changes it now.
 */
export function claimUpper(root: number, base: number, leaveOut: readonly string[]): void {
  removeTree(root, "work");
  // Files of upper move beside this directory, so its name must not be among theirs.
  const aside = unusedName(root);
  renameAt(root, "upper", root, aside);
  const top = withOpen(root, aside, O.DIRECTORY, (upper) => {
    for (const path of leaveOut) dropChange(upper, statFd(upper), partsOf(path));
    new Claim(base).directory(upper);
    const facts = statFd(upper);
    for (const name of namesIn(upper)) renameAt(upper, name, root, name);
    copyDirectoryFacts(upper, root, facts);
    return facts;
  });
  rmdirAt(root, aside);
  utimesFd(root, top.mtimeSec, top.mtimeNsec);
}

function unusedName(root: number): string {
  return withOpen(root, "upper", O.DIRECTORY, (upper) => {
    for (let i = 0; ; i++) if (!statAt(upper, `upper-${i}`)) return `upper-${i}`;
  });
}

/** Removes the file at a path, and its parents that hold nothing else. A path through a symbolic link names nothing. */
function dropChange(dir: number, { mtimeSec, mtimeNsec }: Stat, [name, ...rest]: readonly string[]): void {
  const stat = name === undefined ? undefined : statAt(dir, name);
  if (name === undefined || !stat) return;
  if (rest.length === 0) removeTree(dir, name);
  else if (typeOf(stat) !== TYPE.directory || !dropBelow(dir, name, stat, rest)) return;
  else rmdirAt(dir, name);
  // Removing names has changed the directory's time.
  utimesFd(dir, mtimeSec, mtimeNsec);
}

/** True when the directory `name` is empty afterwards and is not opaque. */
function dropBelow(dir: number, name: string, stat: Stat, rest: readonly string[]): boolean {
  return withOpen(dir, name, O.DIRECTORY, (fd) => {
    dropChange(fd, stat, rest);
    return namesIn(fd).length === 0 && !getXattr(fd, OPAQUE);
  });
}

/** Gives everything below a directory plain owners. */
class Claim {
  private readonly base: number;
  /** Inodes of files with several names, which must be changed only once. */
  private readonly seen = new Set<bigint>();

  constructor(base: number) {
    this.base = base;
  }

  directory(fd: number): void {
    for (const name of namesIn(fd)) this.entry(fd, name);
    const stat = statFd(fd);
    this.attributes(fd, stat);
    // Removing names has changed the directory's time.
    utimesFd(fd, stat.mtimeSec, stat.mtimeNsec);
  }

  private entry(dir: number, name: string): void {
    const stat = statAt(dir, name);
    if (!stat || isWhiteout(stat) || this.isDone(stat)) return;
    switch (typeOf(stat)) {
      case TYPE.directory:
        withOpen(dir, name, O.DIRECTORY, (fd) => this.directory(fd));
        break;
      case TYPE.file:
        withOpen(dir, name, 0, (fd) => this.attributes(fd, stat));
        break;
      case TYPE.symlink:
        chownAt(dir, name, this.plain(stat.uid), this.plain(stat.gid));
        break;
      case TYPE.fifo:
        chownAt(dir, name, this.plain(stat.uid), this.plain(stat.gid));
        chmodAt(dir, name, stat.mode & 0o7777);
        break;
      default:
        // A socket is useless without its listener. A sandbox cannot make device files.
        unlinkAt(dir, name);
    }
  }

  private isDone({ nlink, ino, mode }: Stat): boolean {
    if (nlink === 1 || (mode & S_IFMT) === TYPE.directory) return false;
    if (this.seen.has(ino)) return true;
    this.seen.add(ino);
    return false;
  }

  private plain(id: number): number {
    if (id >= this.base && id < this.base + RANGE_SIZE) return id - this.base;
    return id === 0 ? 0 : NOBODY;
  }

  /**
   * Sets owner, mode and extended attributes. Capabilities are read before the owner changes, which deletes them
   * (docs/decisions.md, Owners and capabilities).
   */
  private attributes(fd: number, stat: Stat): void {
    const names = listXattrs(fd);
    const capability = names.includes(CAPABILITY) ? getXattr(fd, CAPABILITY) : undefined;
    const plain = capability && plainCapability(capability, this.base);
    fchown(fd, this.plain(stat.uid), this.plain(stat.gid));
    if (stat.mode & SET_ID) fchmod(fd, stat.mode & 0o7777);
    for (const name of names) {
      if (isAcl(name)) this.acl(fd, name);
      else if (name !== CAPABILITY && name !== OPAQUE && !isKept(name)) dropAttribute(fd, name);
    }
    if (plain) setXattr(fd, CAPABILITY, plain);
  }

  private acl(fd: number, name: string): void {
    const value = getXattr(fd, name);
    const shifted = value && shiftedAcl(value, (id) => this.plain(id));
    if (shifted) setXattr(fd, name, shifted);
  }
}

function dropAttribute(fd: number, name: string): void {
  try {
    removeXattr(fd, name);
  } catch (error) {
    if (!hasErrno(error, "EOPNOTSUPP", "EPERM")) throw error;
  }
}

function copyDirectoryFacts(from: number, to: number, stat: Stat): void {
  fchown(to, stat.uid, stat.gid);
  fchmod(to, stat.mode & 0o7777);
  for (const name of listXattrs(from)) {
    const value = isKept(name) ? getXattr(from, name) : undefined;
    if (value) setXattr(to, name, value);
  }
  utimesFd(to, stat.mtimeSec, stat.mtimeNsec);
}
