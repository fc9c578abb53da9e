import {
  chmodAt,
  chownAt,
  cloneFile,
  fchmod,
  fchown,
  isWhiteout,
  linkAt,
  mkdirAt,
  mknodAt,
  openAt,
  rmdirAt,
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
import { Directories } from "./directories.ts";
import { finishFile, setAttributes, setOpaque, timeOf } from "./entry-facts.ts";
import type { SkeletonWriter } from "./skeleton-writer.ts";
import { BadTar } from "./tar/header.ts";
import type { TarEntry, TarSink } from "./tar/reader.ts";
import { explained, TooManyEntries } from "./unpack-errors.ts";

const WHITEOUT = ".wh.";
const META = ".wh..wh.";
const OPAQUE_MARK = ".wh..wh..opq";
/** The highest id; the next one means "no id" to the kernel. */
const MAX_ID = 0xffff_fffe;
/** How many paths of left-out entries are reported. */
const MAX_EXAMPLES = 3;
/** How many contents later entries of the same tar may replace. */
const MAX_REPLACED = 10_000;

/** Content of `path` that a later entry of the same tar has replaced. It is one of the first `before` contents of the tar, and kept in `file`. */
export interface Replaced {
  readonly path: string;
  readonly before: number;
  readonly file: string;
}

export interface UnpackTarget {
  /** The new layer's root, open; an empty directory. */
  readonly root: number;
  /** Descriptor of the directory for replaced contents. */
  readonly kept: number;
  readonly skeleton: SkeletonWriter;
  readonly maxEntries: number;
}

/**
 * Unpacks a hostile tar into the tree of a layer. The kernel resolves every path within the tree's root, so symbolic links do not lead out of it.
 * Whiteouts become overlay's whiteouts.
 */
export class Unpacker implements TarSink {
  readonly replaced: Replaced[] = [];
  /** Device nodes of the tar, which the tree does not have. */
  readonly leftOut: { count: number; readonly examples: string[] } = { count: 0, examples: [] };
  private readonly target: UnpackTarget;
  private readonly directories: Directories;
  private entries = 0;
  private file: { readonly fd: number; readonly entry: TarEntry } | undefined;

  constructor(target: UnpackTarget) {
    this.target = target;
    this.directories = new Directories(target.root);
  }

  raw(bytes: Buffer): void {
    this.target.skeleton.raw(bytes);
  }

  entry(entry: TarEntry): boolean {
    if (++this.entries > this.target.maxEntries) throw new TooManyEntries();
    if (entry.uid > MAX_ID || entry.gid > MAX_ID) throw new BadTar(`the owner of ${show(entry.path)} is out of range`);
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
      if (entry.type !== "5") throw new BadTar("the root of a layer can only be a directory");
      this.directoryMade(this.target.root, "", entry);
      return false;
    }
    // Files of an older format (AUFS) are ignored. A name below a whiteout is invalid.
    if (parts.some((part) => part.startsWith(META))) return false;
    if (parts.some((part) => part.startsWith(WHITEOUT))) throw new BadTar(`${show(entry.path)} lies below a whiteout`);
    const parent = this.directories.open(parts);
    if (name.startsWith(META)) {
      if (name === OPAQUE_MARK) this.opaque(parent.path, parent.fd);
      return false;
    }
    if (name.startsWith(WHITEOUT)) {
      this.whiteout(parent.fd, name.slice(WHITEOUT.length));
      return false;
    }
    return this.make(entry, parent.fd, parent.path, name);
  }

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
    if (entry.size > 0) this.target.skeleton.content(joinPath(parent, name), entry.size);
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
      throw new BadTar(`${show(entry.path)} is a link to ${show(entry.link)}, which is no file of this layer`);
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

  /** Marks the directory as opaque: it hides the files that the layers below have in it. */
  private opaque(path: string, fd: number): void {
    if (path === "") throw new BadTar("the root of a layer cannot hide the layers below it");
    withOpen(fd, ".", O.DIRECTORY, setOpaque);
  }

  /** Hides the name in the layers below; a file that this layer itself has under that name stays (image-spec, layer.md, "Whiteouts"). */
  private whiteout(dir: number, name: string): void {
    if (name === "" || name === "." || name === "..") throw new BadTar("a whiteout without a name");
    const stat = statAt(dir, name);
    if (!stat) mknodAt(dir, name, TYPE.char);
    else if (typeOf(stat) === TYPE.directory) withOpen(dir, name, O.DIRECTORY, setOpaque);
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
    if (typeOf(stat) === TYPE.file && stat.size > 0) this.keep(dir, joinPath(parent, name), name);
    unlinkAt(dir, name);
  }

  /** Keeps a content that the tar has and the layer's tree will not have: an export needs it. */
  private keep(dir: number, path: string, name: string): void {
    if (this.replaced.length >= MAX_REPLACED) throw new BadTar("too many entries replace earlier ones");
    const file = String(this.replaced.length);
    withOpen(dir, name, 0, (from) => {
      const to = openAt(this.target.kept, file, O.WRONLY | O.CREAT | O.EXCL, 0o600);
      try {
        cloneFile(from, to);
      } finally {
        close(to);
      }
    });
    this.replaced.push({ path, before: this.target.skeleton.contents, file });
  }
}
