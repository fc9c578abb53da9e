import { chmodAt, isWhiteout, mkdirAt, openAt, openInside, readlinkAt, statAt, TYPE, typeOf, unlinkAt, utimesFd } from "../sys/at.ts";
import { AT_FDCWD, close, hasErrno, O } from "../sys/libc.ts";
import { setOpaque } from "./entry-facts.ts";
import { BadTar } from "./tar/header.ts";

const MAX_OPEN = 16;
/** Most bytes of the paths of directories whose times are set at the end. */
const MAX_TIMED_BYTES = 64 << 20;

const pathOf = (fd: number): string => readlinkAt(AT_FDCWD, `/proc/self/fd/${fd}`);

export interface Directory {
  readonly fd: number;
  /** Real path from the root, without symbolic links; the root is "". */
  readonly path: string;
}

/** The directories of a layer that is being unpacked: the last ones used stay open, since a tar's entries come directory by directory. */
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

  /** The directory of these components, made when missing. The descriptor stays ours. */
  open(parts: readonly string[]): Directory {
    return this.cached(parts, () => this.make(parts));
  }

  /** As `open`, but makes nothing. */
  find(parts: readonly string[]): Directory {
    return this.cached(parts, () => this.openExisting(parts.join("/")));
  }

  /** The directory's time, to be set at the end. A later call for the same directory wins. */
  timeLater(path: string, seconds: number): void {
    if (!this.times.has(path)) this.timedBytes += path.length + 64;
    if (this.timedBytes > MAX_TIMED_BYTES) throw new BadTar("the layer holds too many directories");
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
        // Replaced by something else meanwhile.
        if (!hasErrno(error, "ENOENT", "ENOTDIR", "ELOOP")) throw error;
      }
    }
  }

  /** A new entry begins: descriptors given out for the last one are not in use any more. */
  next(): void {
    if (this.stale) this.close();
  }

  /** Something was replaced: what the open directories were found by may mean another directory from the next entry on. */
  forget(): void {
    this.stale = true;
  }

  close(): void {
    for (const directory of this.opened.values()) this.letGo(directory);
    this.opened.clear();
    this.stale = false;
  }

  private cached(parts: readonly string[], open: () => Directory): Directory {
    const key = parts.join("/");
    const have = this.opened.get(key);
    const directory = have ?? (parts.length === 0 ? { fd: this.root, path: "" } : open());
    // The order of the map is that of use: the one that is asked for last goes to its end.
    this.opened.delete(key);
    this.opened.set(key, directory);
    if (this.opened.size > MAX_OPEN) {
      const [oldest, unused] = this.opened.entries().next().value as [string, Directory];
      this.opened.delete(oldest);
      this.letGo(unused);
    }
    return directory;
  }

  private letGo(directory: Directory): void {
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

  /** A directory that no entry has named (yet): root's, for everyone to read. */
  private makeOne(dir: number, name: string): void {
    const stat = statAt(dir, name);
    const overWhiteout = stat !== undefined && isWhiteout(stat);
    if (overWhiteout) unlinkAt(dir, name);
    else if (stat)
      throw new BadTar(typeOf(stat) === TYPE.symlink ? "a symbolic link on the way leads nowhere" : "a file is used as a directory");
    mkdirAt(dir, name, 0o755);
    chmodAt(dir, name, 0o755);
    if (!overWhiteout) return;
    const fd = openAt(dir, name, O.RDONLY | O.DIRECTORY);
    try {
      setOpaque(fd);
    } finally {
      close(fd);
    }
  }
}
