import {
  chmodAt,
  chownAt,
  fchmod,
  fchown,
  isWhiteout,
  linkAt,
  mkdirAt,
  mknodAt,
  openAt,
  rmdirAt,
  type Stat,
  statAt,
  symlinkAt,
  TYPE,
  typeOf,
  unlinkAt,
  utimesAt,
  withOpen,
  writeAll,
} from "../sys/at.ts";
import { hasErrno } from "../sys/errors.ts";
import { close, O } from "../sys/libc.ts";
import { joinPath, partsOf, show } from "./byte-paths.ts";
import { Directories, type Directory } from "./directories.ts";
import { finishFile, setAttributes, setOpaque, timeOf } from "./entry-facts.ts";
import { BadTar } from "./tar/header.ts";
import type { TarEntry, TarSink } from "./tar/reader.ts";
import { explained, TooManyEntries } from "./unpack-errors.ts";

/** The highest id; the next one means "no id" to the kernel. */
const MAX_ID = 0xffff_fffe;
/** How many paths of left-out entries are reported. */
const MAX_EXAMPLES = 3;

/** Unpacks a hostile tar into a tree. The kernel resolves every path within the tree's root, so symbolic links do not lead out of it. */
export class TreeUnpacker implements TarSink {
  /** Device nodes of the tar, which the tree does not have. */
  readonly leftOut: { count: number; readonly examples: string[] } = { count: 0, examples: [] };
  protected readonly root: number;
  protected readonly directories: Directories;
  private readonly maxEntries: number;
  private readonly maxId: number;
  private entries = 0;
  private file: { readonly fd: number; readonly entry: TarEntry } | undefined;

  /** `root`: the tree's root, open; an empty directory. `maxId`: the highest id of an owner. */
  constructor(root: number, { maxEntries, maxId = MAX_ID }: { readonly maxEntries: number; readonly maxId?: number }) {
    this.root = root;
    this.maxEntries = maxEntries;
    this.maxId = maxId;
    this.directories = new Directories(root);
  }

  raw(_bytes: Buffer): void {}

  entry(entry: TarEntry): boolean {
    if (++this.entries > this.maxEntries) throw new TooManyEntries();
    if (entry.uid > this.maxId || entry.gid > this.maxId) throw new BadTar(`the owner of ${show(entry.path)} is out of range`);
    this.directories.next();
    try {
      return this.place(entry);
    } catch (error) {
      throw explained(entry.path, error);
    }
  }

  content(piece: Buffer): void {
    if (this.file) writeAll(this.file.fd, piece);
  }

  contentEnd(): void {
    if (!this.file) return;
    const { fd, entry } = this.file;
    this.file = undefined;
    try {
      finishFile(fd, entry);
    } catch (error) {
      throw explained(entry.path, error);
    } finally {
      close(fd);
    }
  }

  /** Sets the times of directories, after the last change in them. */
  finish(): void {
    this.directories.finish();
  }

  /** Closes all open descriptors; to be called also after a failure. */
  close(): void {
    if (this.file) close(this.file.fd);
    this.file = undefined;
    this.directories.close();
  }

  private place(entry: TarEntry): boolean {
    const parts = partsOf(entry.path);
    const name = parts.pop();
    if (name === undefined) {
      if (entry.type !== "5") throw new BadTar("the root can only be a directory");
      this.directoryMade(this.root, "", entry);
      return false;
    }
    if (!this.isWanted(entry, parts)) return false;
    const parent = this.directories.open(parts);
    if (this.isMark(parent, name)) return false;
    return this.make(entry, parent.fd, parent.path, name);
  }

  /** False: the entry is ignored. `above`: the names of the directories above it. Throws `BadTar`. */
  protected isWanted(_entry: TarEntry, _above: readonly string[]): boolean {
    return true;
  }

  /** True: the entry was no file, and has been dealt with. */
  protected isMark(_parent: Directory, _name: string): boolean {
    return false;
  }

  /** A file begins that will have content. */
  protected contentBegins(_path: string, _size: number): void {}

  /** A later entry of the same tar replaces this file. */
  protected replaces(_dir: number, _path: string, _name: string, _old: Stat): void {}

  private make(entry: TarEntry, dir: number, parent: string, name: string): boolean {
    switch (entry.type) {
      case "0":
        return this.makeFile(entry, dir, parent, name);
      case "1":
        this.makeLink(entry, dir, parent, name);
        return false;
      case "2":
        this.fresh(dir, parent, name, () => symlinkAt(entry.link, dir, name));
        chownAt(dir, name, entry.uid, entry.gid);
        utimesAt(dir, name, timeOf(entry));
        return false;
      case "5":
        this.makeDirectory(entry, dir, parent, name);
        return false;
      case "6":
        this.fresh(dir, parent, name, () => mknodAt(dir, name, TYPE.fifo | 0o600));
        chownAt(dir, name, entry.uid, entry.gid);
        chmodAt(dir, name, entry.mode);
        utimesAt(dir, name, timeOf(entry));
        return false;
      case "3":
      case "4":
        // Every debootstrap tree has some. Sandboxes have their own /dev, and device files of an image could not be opened.
        this.leaveOut(entry.path);
        return false;
      default:
        throw new BadTar(`${show(entry.path)} is of the unknown kind ${show(entry.type)}`);
    }
  }

  private leaveOut(path: string): void {
    this.leftOut.count += 1;
    if (this.leftOut.examples.length < MAX_EXAMPLES) this.leftOut.examples.push(show(partsOf(path).join("/")));
  }

  private makeFile(entry: TarEntry, dir: number, parent: string, name: string): boolean {
    const fd = this.fresh(dir, parent, name, () => openAt(dir, name, O.WRONLY | O.CREAT | O.EXCL, 0o600));
    if (entry.size > 0) this.contentBegins(joinPath(parent, name), entry.size);
    this.file = { fd, entry };
    return true;
  }

  private makeLink(entry: TarEntry, dir: number, parent: string, name: string): void {
    const parts = partsOf(entry.link);
    const last = parts.pop();
    if (last === undefined) throw new BadTar(`${show(entry.path)} is a link to a directory`);
    const from = this.directories.find(parts);
    const stat = statAt(from.fd, last);
    if (!stat || typeOf(stat) === TYPE.directory || isWhiteout(stat)) {
      throw new BadTar(`${show(entry.path)} is a link to ${show(entry.link)}, which is no file of this tar`);
    }
    // A link to itself, which some writers make, would otherwise remove the file.
    if (joinPath(from.path, last) === joinPath(parent, name)) return;
    this.fresh(dir, parent, name, () => linkAt(from.fd, last, dir, name));
  }

  private makeDirectory(entry: TarEntry, dir: number, parent: string, name: string): void {
    let opaque = false;
    try {
      mkdirAt(dir, name, 0o700);
    } catch (error) {
      if (!hasErrno(error, "EEXIST")) throw error;
      const stat = statAt(dir, name);
      if (stat && typeOf(stat) !== TYPE.directory) {
        opaque = isWhiteout(stat);
        this.remove(dir, parent, name);
        mkdirAt(dir, name, 0o700);
      }
    }
    withOpen(dir, name, O.DIRECTORY, (fd) => {
      if (opaque) setOpaque(fd);
      this.directoryMade(fd, joinPath(parent, name), entry);
    });
  }

  private directoryMade(fd: number, path: string, entry: TarEntry): void {
    fchown(fd, entry.uid, entry.gid);
    fchmod(fd, entry.mode);
    setAttributes(fd, entry);
    this.directories.timeLater(path, timeOf(entry));
  }

  /** Makes an entry under a name that this tar may have used before: the later entry wins. */
  private fresh<T>(dir: number, parent: string, name: string, make: () => T): T {
    try {
      return make();
    } catch (error) {
      if (!hasErrno(error, "EEXIST")) throw error;
      this.remove(dir, parent, name);
      return make();
    }
  }

  private remove(dir: number, parent: string, name: string): void {
    const stat = statAt(dir, name);
    if (!stat) return;
    this.directories.forget();
    if (typeOf(stat) === TYPE.directory) {
      rmdirAt(dir, name);
      return;
    }
    this.replaces(dir, joinPath(parent, name), name, stat);
    unlinkAt(dir, name);
  }
}
