import {
  chmodAt,
  chownAt,
  cloneFile,
  fchmod,
  fchown,
  getXattr,
  isWhiteout,
  linkAt,
  listXattrs,
  mkdirAt,
  mknodAt,
  namesIn,
  openAt,
  openInside,
  RESOLVE,
  readlinkAt,
  removeTree,
  removeXattr,
  type Stat,
  setXattr,
  statAt,
  statFd,
  symlinkAt,
  TYPE,
  typeOf,
  utimesAt,
  utimesFd,
  withOpen,
} from "../sys/at.ts";
import { close, O } from "../sys/libc.ts";
import { isKept, OPAQUE } from "./attributes.ts";

/**
 * Merges the tree of a layer (`source`) into the tree of the layer below it (`target`), with the result that overlay would show. Both are on one
 * btrfs, and contents are shared, not copied.
 */
export function layOver(target: number, source: number): void {
  new Merger(target).directory(target, source, "", true);
}

class Merger {
  private readonly root: number;
  /** First path in the target of each file of the source that has several names, by inode number. */
  private readonly links = new Map<bigint, string>();

  constructor(root: number) {
    this.root = root;
  }

  /** `existed`: the target had this directory before, so its files stay unless the source's directory is opaque. */
  directory(target: number, source: number, path: string, existed: boolean): void {
    if (existed && isOpaque(source)) {
      for (const name of namesIn(target)) removeTree(target, name);
      setXattr(target, OPAQUE, Buffer.from("y"));
    }
    for (const name of namesIn(source)) this.entry(target, source, path === "" ? name : `${path}/${name}`, name);
    const stat = statFd(source);
    copyFacts(source, target, stat);
  }

  private entry(target: number, source: number, path: string, name: string): void {
    const stat = statAt(source, name);
    if (!stat) return;
    const have = statAt(target, name);
    if (typeOf(stat) === TYPE.directory) {
      this.subdirectory(target, source, path, name, have);
      return;
    }
    if (have) removeTree(target, name);
    this.leaf(target, source, path, name, stat);
  }

  private subdirectory(target: number, source: number, path: string, name: string, have: Stat | undefined): void {
    const existed = have !== undefined && typeOf(have) === TYPE.directory;
    if (have && !existed) removeTree(target, name);
    if (!existed) mkdirAt(target, name, 0o700);
    withOpen(source, name, O.DIRECTORY, (from) =>
      withOpen(target, name, O.DIRECTORY, (to) => {
        // A file or a whiteout of the target hid the layers further below; the directory that replaces it must hide them too.
        if ((have && !existed) || isOpaque(from)) setXattr(to, OPAQUE, Buffer.from("y"));
        this.directory(to, from, path, existed);
      }),
    );
  }

  private leaf(target: number, source: number, path: string, name: string, stat: Stat): void {
    const whiteout = isWhiteout(stat);
    if (whiteout) mknodAt(target, name, TYPE.char);
    if (whiteout || (stat.nlink > 1 && this.linked(target, path, name, stat))) return;
    switch (typeOf(stat)) {
      case TYPE.file:
        copyFile(target, source, name, stat);
        return;
      case TYPE.symlink:
        symlinkAt(readlinkAt(source, name), target, name);
        break;
      case TYPE.fifo:
        mknodAt(target, name, TYPE.fifo | 0o600);
        break;
      default:
        return;
    }
    chownAt(target, name, stat.uid, stat.gid);
    if (typeOf(stat) === TYPE.fifo) chmodAt(target, name, stat.mode & 0o7777);
    utimesAt(target, name, stat.mtimeSec, stat.mtimeNsec);
  }

  private linked(target: number, path: string, name: string, stat: Stat): boolean {
    const first = this.links.get(stat.ino);
    if (first === undefined) {
      this.links.set(stat.ino, path);
      return false;
    }
    const slash = first.lastIndexOf("/");
    const directory = openInside(this.root, first.slice(0, Math.max(slash, 0)), O.RDONLY | O.DIRECTORY, RESOLVE.noLinks);
    try {
      linkAt(directory, first.slice(slash + 1), target, name);
    } finally {
      close(directory);
    }
    return true;
  }
}

function isOpaque(fd: number): boolean {
  return getXattr(fd, OPAQUE)?.[0] === 0x79;
}

function copyFile(target: number, source: number, name: string, stat: Stat): void {
  withOpen(source, name, 0, (from) => {
    const to = openAt(target, name, O.WRONLY | O.CREAT | O.EXCL, 0o600);
    try {
      if (stat.size > 0) cloneFile(from, to);
      copyFacts(from, to, stat);
    } finally {
      close(to);
    }
  });
}

/** The owner first, because the kernel then removes capabilities and set-id bits. */
function copyFacts(from: number, to: number, stat: Stat): void {
  fchown(to, stat.uid, stat.gid);
  fchmod(to, stat.mode & 0o7777);
  const wanted = listXattrs(from).filter(isKept);
  for (const name of listXattrs(to)) if (isKept(name) && !wanted.includes(name)) removeXattr(to, name);
  for (const name of wanted) {
    const value = getXattr(from, name);
    if (value) setXattr(to, name, value);
  }
  utimesFd(to, stat.mtimeSec, stat.mtimeNsec);
}
