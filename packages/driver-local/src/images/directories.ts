import { chmodAt, isWhiteout, mkdirAt, openInside, readlinkAt, statAt, TYPE, typeOf, unlinkAt, utimesFd, withOpen } from "../sys/at.ts";
import { AT_FDCWD, close, hasErrno, O } from "../sys/libc.ts";
import { setOpaque } from "./entry-facts.ts";
import { BadTar } from "./tar/header.ts";

const MAX_OPEN = 16;
/** Bound of the memory for paths of directories whose times are set at the end, bytes. */
const MAX_TIMED_BYTES = 64 << 20;

const pathOf = (fd: number): string => readlinkAt(AT_FDCWD, `/proc/self/fd/${fd}`);

export interface Directory {
  readonly fd: number;
  /** Real path from the root, without symbolic links; the root is "". */
  readonly path: string;
}

/** The directories of a layer that is being unpacked. The last used ones stay open, because the entries of a tar come directory by directory. */
export class Directories {
  private readonly root: number;
  private readonly rootPath: string;
  private readonly opened = new Map<string, Directory>();
  private readonly times = new Map<string, number>();
  private timedBytes = 0;
  private stale = false;

  constructor(root: number) {
    this.root = root;
    this.rootPath = pathOf(root);
  }

  /** The directory of these components, made when missing. The caller must not close the descriptor. */
  open(parts: readonly string[]): Directory {
    return this.cached(parts, () => this.make(parts));
  }

  /** As `open`, but throws `ENOENT` when the directory is missing. */
  find(parts: readonly string[]): Directory {
    return this.cached(parts, () => this.openExisting(parts.join("/")));
  }

  /** Remembers the directory's time, which `finish` sets. A later call for the same directory wins. */
  timeLater(path: string, seconds: number): void {
    if (!this.times.has(path)) this.timedBytes += path.length + 64;
    if (this.timedBytes > MAX_TIMED_BYTES) throw new BadTar("it holds too many directories");
    this.times.set(path, seconds);
  }

  finish(): void {
    this.close();
    for (const [path, seconds] of this.times) {
      try {
        const fd = openInside(this.root, path, O.RDONLY | O.DIRECTORY | O.NOFOLLOW);
        try {
          utimesFd(fd, seconds);
        } finally {
          close(fd);
        }
      } catch (error) {
        // A later entry has replaced the directory.
        if (!hasErrno(error, "ENOENT", "ENOTDIR", "ELOOP")) throw error;
      }
    }
  }

  /** A new entry begins: descriptors that were returned for the last entry are no longer in use. */
  next(): void {
    if (this.stale) this.close();
  }

  /** An entry was replaced: from the next entry on, the paths of the open directories may lead to other directories. */
  forget(): void {
    this.stale = true;
  }

  close(): void {
    for (const directory of this.opened.values()) this.closeOne(directory);
    this.opened.clear();
    this.stale = false;
  }

  private cached(parts: readonly string[], open: () => Directory): Directory {
    const key = parts.join("/");
    const have = this.opened.get(key);
    const directory = have ?? (parts.length === 0 ? { fd: this.root, path: "" } : open());
    // The map is in the order of last use.
    this.opened.delete(key);
    this.opened.set(key, directory);
    if (this.opened.size > MAX_OPEN) {
      const [oldest, unused] = this.opened.entries().next().value as [string, Directory];
      this.opened.delete(oldest);
      this.closeOne(unused);
    }
    return directory;
  }

  private closeOne(directory: Directory): void {
    if (directory.fd !== this.root) close(directory.fd);
  }

  private openExisting(path: string): Directory {
    const fd = openInside(this.root, path, O.RDONLY | O.DIRECTORY);
    return { fd, path: pathOf(fd).slice(this.rootPath.length + 1) };
  }

  private make(parts: readonly string[]): Directory {
    const whole = parts.join("/");
    try {
      return this.openExisting(whole);
    } catch (error) {
      if (!hasErrno(error, "ENOENT", "ENOTDIR")) throw error;
    }
    const parent = this.open(parts.slice(0, -1));
    const name = parts[parts.length - 1] as string;
    this.makeOne(parent.fd, name);
    return this.openExisting(whole);
  }

  /** Makes a directory that has no entry of its own so far: owned by root, readable for all. */
  private makeOne(dir: number, name: string): void {
    const stat = statAt(dir, name);
    const overWhiteout = stat !== undefined && isWhiteout(stat);
    if (overWhiteout) unlinkAt(dir, name);
    else if (stat)
      throw new BadTar(typeOf(stat) === TYPE.symlink ? "a symbolic link on the way leads nowhere" : "a file is used as a directory");
    mkdirAt(dir, name, 0o755);
    chmodAt(dir, name, 0o755);
    if (!overWhiteout) return;
    withOpen(dir, name, O.DIRECTORY, setOpaque);
  }
}
