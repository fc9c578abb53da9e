import { withoutTrailing } from "@boxyard/core/text";
import { BadTar, BLOCK, isZeroBlock, parseHeader, parsePax, type RawHeader } from "./header.ts";

/** An entry with its PAX records and long names applied. Texts are byte strings. */
export interface TarEntry {
  readonly path: string;
  /** As in the format: 0 file, 1 hard link, 2 symbolic link, 3 and 4 devices, 5 directory, 6 FIFO. */
  readonly type: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** Seconds since 1970. */
  readonly mtime: number;
  readonly link: string;
  /** Extended attributes by name. */
  readonly xattrs: ReadonlyMap<string, string>;
}

/** Receives the parts of a tar, in their order. All methods are synchronous; an exception ends the reading. */
export interface TarSink {
  /** An entry begins. True: its content goes to `content`; false: its content goes to `raw`. */
  entry(entry: TarEntry): boolean;
  /** A piece of the content of the last entry, if `entry` returned true. */
  content(piece: Buffer): void;
  /** The content of the last entry is complete, if `entry` returned true. */
  contentEnd(): void;
  /** Every byte of the tar that does not go to `content`: headers, padding, end. */
  raw(bytes: Buffer): void;
}

/** Longest PAX header or long name, bytes. */
const MAX_META_BYTES = 1 << 20;
/** Longest content of an entry that should have none (a symbolic link, for example), bytes. */
const MAX_IDLE_BYTES = 1 << 20;
const XATTR = "SCHILY.xattr.";

type State = "header" | "meta" | "content" | "skip" | "padding" | "end";

/**
 * Reads a tar piece by piece: ustar, PAX, GNU long names and base-256 numbers, the formats of image layers. Sparse files are refused. Holds at
 * most one block and one header's text in memory.
 */
export class TarReader {
  private readonly sink: TarSink;
  private state: State = "header";
  private readonly block = Buffer.alloc(BLOCK);
  private filled = 0;
  private left = 0;
  private padding = 0;
  private zeroBlocks = 0;
  private metaType = "";
  private meta: Buffer[] = [];
  private pax = new Map<string, string>();
  private longName: string | undefined;
  private longLink: string | undefined;

  constructor(sink: TarSink) {
    this.sink = sink;
  }

  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) at += this.step(bytes, at);
  }

  /** To be called after the last byte. Throws `BadTar` when the tar is incomplete. */
  end(): void {
    const whole = this.state === "end" || (this.state === "header" && this.filled === 0);
    if (!whole) throw new BadTar("the tar is cut off");
    if (this.pax.size > 0 || this.longName !== undefined) throw new BadTar("the tar is cut off after an entry's long name");
  }

  private step(bytes: Buffer, at: number): number {
    switch (this.state) {
      case "header":
        return this.fillHeader(bytes, at);
      case "end":
        this.sink.raw(bytes.subarray(at));
        return bytes.length - at;
      default:
        return this.take(bytes.subarray(at, at + Math.min(this.left, bytes.length - at)));
    }
  }

  private fillHeader(bytes: Buffer, at: number): number {
    const length = Math.min(BLOCK - this.filled, bytes.length - at);
    bytes.copy(this.block, this.filled, at, at + length);
    this.filled += length;
    if (this.filled === BLOCK) {
      this.filled = 0;
      this.header();
    }
    return length;
  }

  private header(): void {
    if (isZeroBlock(this.block)) {
      this.sink.raw(Buffer.from(this.block));
      // A tar may end with a single zero block; everything after a second one is padding.
      if (++this.zeroBlocks === 2) this.state = "end";
      return;
    }
    if (this.zeroBlocks > 0) throw new BadTar("an entry follows the end of the tar");
    const header = parseHeader(this.block);
    const size = header.size;
    if ("xgLKXN".includes(header.type)) {
      if (size > MAX_META_BYTES) throw new BadTar("an entry's header is too long");
      this.sink.raw(Buffer.from(this.block));
      this.metaType = header.type;
      this.go("meta", size);
      return;
    }
    this.entry(header);
  }

  private entry(header: RawHeader): void {
    const entry = this.complete(header);
    this.sink.raw(Buffer.from(this.block));
    const wanted = this.sink.entry(entry);
    this.pax = new Map();
    this.longName = undefined;
    this.longLink = undefined;
    if (!wanted && entry.size > MAX_IDLE_BYTES) throw new BadTar("an entry that holds nothing has content");
    this.go(wanted ? "content" : "skip", entry.size);
  }

  private complete(header: RawHeader): TarEntry {
    const { pax } = this;
    for (const key of pax.keys()) if (key.startsWith("GNU.sparse.")) throw new BadTar("sparse files are not supported");
    const xattrs = new Map<string, string>();
    for (const [key, value] of pax) if (key.startsWith(XATTR)) xattrs.set(key.slice(XATTR.length), value);
    const number = (key: string, otherwise: number) => {
      const value = pax.get(key);
      if (value === undefined) return otherwise;
      if (!/^-?\d{1,20}(\.\d*)?$/.test(value)) throw new BadTar(`the PAX record ${key} is no number`);
      const whole = Math.max(0, Math.trunc(Number(value)));
      if (whole > Number.MAX_SAFE_INTEGER) throw new BadTar(`the PAX record ${key} is out of range`);
      return whole;
    };
    const path = pax.get("path") ?? this.longName ?? header.name;
    const type = header.type === "7" ? "0" : header.type;
    return {
      path,
      // Before POSIX a directory was an entry for a file whose name ends in a slash.
      type: type === "0" && path.endsWith("/") ? "5" : type,
      mode: header.mode,
      uid: number("uid", header.uid),
      gid: number("gid", header.gid),
      size: number("size", header.size),
      mtime: number("mtime", header.mtime),
      link: pax.get("linkpath") ?? this.longLink ?? header.link,
      xattrs,
    };
  }

  private go(state: "meta" | "content" | "skip", size: number): void {
    this.state = state;
    this.left = size;
    this.padding = (BLOCK - (size % BLOCK)) % BLOCK;
    if (size === 0) this.finish();
  }

  private take(piece: Buffer): number {
    this.left -= piece.length;
    if (this.state === "content") this.sink.content(piece);
    else {
      this.sink.raw(piece);
      if (this.state === "meta") this.meta.push(Buffer.from(piece));
    }
    if (this.left === 0) this.finish();
    return piece.length;
  }

  private finish(): void {
    if (this.state === "content") this.sink.contentEnd();
    if (this.state === "meta") this.metaEnd();
    if (this.state === "padding" || this.padding === 0) {
      this.state = "header";
      return;
    }
    this.state = "padding";
    this.left = this.padding;
  }

  private metaEnd(): void {
    const data = Buffer.concat(this.meta);
    this.meta = [];
    const text = () => withoutTrailing(data.toString("latin1"), "\0");
    if (this.metaType === "L") this.longName = text();
    else if (this.metaType === "K") this.longLink = text();
    else if (this.metaType === "x" || this.metaType === "X") this.pax = parsePax(data);
    // `g` (records for the whole archive) is ignored, as in other tools for layers.
  }
}
