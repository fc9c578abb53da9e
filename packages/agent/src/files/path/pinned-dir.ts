import { chownSync, closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync, readlinkSync, rmdirSync, type Stats } from "node:fs";
import { withoutTrailing } from "@boxyard/core";
import { errnoOf } from "../sys/errno.ts";

/** Linux's O_PATH, which `node:fs` does not define: a descriptor that names an entry without opening it. */
export const O_PATH = 0o10000000;
const PIN = O_PATH | constants.O_DIRECTORY;

/** Owner of new files and directories. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * A directory held by descriptor. Names in it are reached through `/proc/self/fd`, so that exchanging a parent for a link meanwhile leads nowhere
 * else. The owner closes it.
 */
export class PinnedDir {
  readonly fd: number;

  constructor(fd: number) {
    this.fd = fd;
  }

  /** Opens an existing directory, following links. Throws the kernel's error. */
  static open(path: string | Buffer): PinnedDir {
    return new PinnedDir(openSync(path, PIN));
  }

  /** A name in this directory, as a path for any system call. */
  at(name: string): string;
  /** The same for a name that may not be UTF-8. */
  at(name: string | Buffer): string | Buffer;
  at(name: string | Buffer): string | Buffer {
    const prefix = `/proc/self/fd/${this.fd}/`;
    return typeof name === "string" ? prefix + name : Buffer.concat([Buffer.from(prefix), name]);
  }

  /** Status of the entry of this name, links not followed; undefined when there is none. */
  lstat(name: string | Buffer): Stats | undefined {
    return lstatSync(this.at(name), { throwIfNoEntry: false });
  }

  /** Current path of this directory, in bytes, because it may not be UTF-8. */
  realPath(): Buffer {
    return readlinkSync(`/proc/self/fd/${this.fd}`, "buffer");
  }

  /** `dev:ino`, equal for two spellings of the same directory. */
  identity(): string {
    // As bigints: inode numbers of an overlay of several file systems, or of FUSE, may exceed 2^53.
    const stat = fstatSync(this.fd, { bigint: true });
    return `${stat.dev}:${stat.ino}`;
  }

  /** Opens the subdirectory of this name, or makes it (0755, owned by `owner`). Links to directories are followed. A failure leaves no new directory. */
  child(name: string, owner: Owner): { readonly dir: PinnedDir; readonly created: boolean } {
    let created = false;
    try {
      mkdirSync(this.at(name), 0o755);
      created = true;
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
    }
    let fd: number | undefined;
    try {
      // A directory just made is no link. If it is one now, a program exchanged it, and the chown must not follow the link.
      fd = openSync(this.at(name), created ? PIN | constants.O_NOFOLLOW : PIN);
      if (created) chownSync(`/proc/self/fd/${fd}`, owner.uid, owner.gid);
      return { dir: new PinnedDir(fd), created };
    } catch (error) {
      if (fd !== undefined) closeSync(fd);
      if (created) removeEmpty(this.at(name));
      throw error;
    }
  }

  close(): void {
    closeSync(this.fd);
  }
}

/**
 * Opens a directory; makes it and its missing parents (0755, owned by `owner`), all or none. `onCreate` is called with the path of each new
 * directory, outermost first.
 */
export function ensureDir(path: string, owner: Owner, onCreate?: (path: string) => void): PinnedDir {
  const missing: string[] = [];
  let at = path;
  let dir: PinnedDir | undefined;
  while (!dir) {
    try {
      dir = PinnedDir.open(at);
    } catch (error) {
      if (errnoOf(error) !== "ENOENT" || at === "/") throw error;
      const cut = withoutTrailing(at, "/").lastIndexOf("/");
      missing.unshift(at.slice(cut + 1).replaceAll("/", ""));
      at = at.slice(0, cut) || "/";
    }
  }
  const made: string[] = [];
  try {
    for (const name of missing) {
      if (name === "" || name === ".") continue;
      at = `${at === "/" ? "" : at}/${name}`;
      const next = childOnly(dir, name, owner);
      if (next.created) made.push(at);
      dir = next.dir;
    }
  } catch (error) {
    for (const path of made.reverse()) removeEmpty(path);
    throw error;
  }
  for (const path of made) onCreate?.(path);
  return dir;
}

/** As `parent.child`, and closes the parent, also on failure. */
function childOnly(parent: PinnedDir, name: string, owner: Owner): ReturnType<PinnedDir["child"]> {
  try {
    return parent.child(name, owner);
  } finally {
    parent.close();
  }
}

function removeEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // A program put a file there meanwhile: the directory stays.
  }
}
