import { chownSync, closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync, readlinkSync, rmdirSync, type Stats } from "node:fs";
import { withoutTrailing } from "@boxyard/core";
import { errnoOf } from "../sys/errno.ts";

/** Linux's O_PATH; node does not name it. A descriptor that names a place and never opens what lies there. */
export const O_PATH = 0o10000000;
const PIN = O_PATH | constants.O_DIRECTORY;

/** Owner of what is created. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * A directory held by descriptor. Names below it are reached through `/proc/self/fd`, so that swapping a parent for a link while we work
 * can't lead us elsewhere. Close it.
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
  /** The same for a name that may be no text. */
  at(name: string | Buffer): string | Buffer;
  at(name: string | Buffer): string | Buffer {
    const prefix = `/proc/self/fd/${this.fd}/`;
    return typeof name === "string" ? prefix + name : Buffer.concat([Buffer.from(prefix), name]);
  }

  /** What has this name, links not followed; undefined when nothing has. */
  lstat(name: string | Buffer): Stats | undefined {
    return lstatSync(this.at(name), { throwIfNoEntry: false });
  }

  /** Where this directory is now; bytes, since it may be no text. */
  realPath(): Buffer {
    return readlinkSync(`/proc/self/fd/${this.fd}`, "buffer");
  }

  /** `dev:ino`, equal for two spellings of the same directory. */
  identity(): string {
    // As numbers, those of an overlay of several file systems, or of FUSE, would be rounded to those of their neighbours.
    const stat = fstatSync(this.fd, { bigint: true });
    return `${stat.dev}:${stat.ino}`;
  }

  /** The subdirectory of this name, made and owned when missing, or not made at all. Links to directories are followed. */
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
      // A directory just made can't be a link; if it is one now, somebody swapped it and must not get our chown.
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
 * Opens a directory, making it and its missing parents (0755, owned): all or none. `onCreate` hears the path of each new one, outermost first.
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

/** The parent is closed in any case. */
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
    // Somebody put something there meanwhile: it stays.
  }
}
