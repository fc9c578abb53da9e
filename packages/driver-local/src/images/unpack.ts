import { cloneFile, mknodAt, openAt, type Stat, statAt, TYPE, typeOf, withOpen } from "../sys/at.ts";
import { close, O } from "../sys/libc.ts";
import { show } from "./byte-paths.ts";
import type { Directory } from "./directories.ts";
import { setOpaque } from "./entry-facts.ts";
import type { SkeletonWriter } from "./skeleton-writer.ts";
import { BadTar } from "./tar/header.ts";
import type { TarEntry } from "./tar/reader.ts";
import { TreeUnpacker } from "./tree-unpacker.ts";

const WHITEOUT = ".wh.";
const META = ".wh..wh.";
const OPAQUE_MARK = ".wh..wh..opq";
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

/** Unpacks a hostile tar into the tree of a layer. Whiteouts become overlay's whiteouts. */
export class Unpacker extends TreeUnpacker {
  readonly replaced: Replaced[] = [];
  private readonly target: UnpackTarget;

  constructor(target: UnpackTarget) {
    super(target.root, target);
    this.target = target;
  }

  override raw(bytes: Buffer): void {
    this.target.skeleton.raw(bytes);
  }

  protected override isWanted({ path }: TarEntry, above: readonly string[]): boolean {
    // Files of an older format (AUFS) are ignored. A name below a whiteout is invalid.
    if (above.some((part) => part.startsWith(META))) return false;
    if (above.some((part) => part.startsWith(WHITEOUT))) throw new BadTar(`${show(path)} lies below a whiteout`);
    return true;
  }

  protected override isMark({ fd, path }: Directory, name: string): boolean {
    if (!name.startsWith(WHITEOUT)) return false;
    if (name === OPAQUE_MARK) this.opaque(path, fd);
    else if (!name.startsWith(META)) this.whiteout(fd, name.slice(WHITEOUT.length));
    return true;
  }

  protected override contentBegins(path: string, size: number): void {
    this.target.skeleton.content(path, size);
  }

  protected override replaces(dir: number, path: string, name: string, old: Stat): void {
    if (typeOf(old) === TYPE.file && old.size > 0) this.keep(dir, path, name);
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
