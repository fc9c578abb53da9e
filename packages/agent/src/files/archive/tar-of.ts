import { closeSync, constants, fstatSync, lstatSync, openSync, read, readdir, readlinkSync, type Stats } from "node:fs";
import { tarEnd, tarEntry, tarPadding } from "@boxyard/spec/tar";
import { readNow } from "../download/read-stream.ts";
import { LIMITS } from "../limits.ts";
import { errnoOf } from "../sys/errno.ts";
import { TimeSlice } from "../time-slice.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A file, with its path as the kernel has it: names need not be UTF-8. */
interface Place {
  readonly path: Buffer;
  /** In the archive. */
  readonly name: string;
}

/** File systems that the kernel makes: their files have no end, or an effect when they are read. */
const OF_THE_KERNEL: ReadonlySet<string> = new Set(["/proc", "/sys", "/dev"]);
/** Errors of what has gone meanwhile, or may be read by nobody: it is left out. */
const LEFT_OUT: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ESRCH", "EINVAL", "EACCES", "EPERM", "ENXIO"]);
const SLASH = Buffer.from("/");

/** A directory with everything in it, as the bytes of a tar in pieces of some hundred KiB. `name` is that of the directory in the archive. */
export async function* tarOf(directory: string, name: string): AsyncGenerator<Bytes> {
  const slice = new TimeSlice();
  const gathered = new Gathered();
  // The directories that are still to be read, the next one last: their names are all that is held of the tree.
  const left: Place[] = [{ path: Buffer.from(directory), name }];
  for (let place = left.pop(); place; place = left.pop()) {
    const found = described(place.path, place.path.equals(Buffer.from(directory)));
    // It may have become a link since its directory was read, and links are not followed.
    if (!found?.isDirectory()) continue;
    if (place.name !== "") gathered.add(...tarEntry({ ...factsOf(found), name: `${place.name}/`, size: 0, type: "directory" }));
    const below: Place[] = [];
    for (const entry of await namesIn(place.path)) {
      await slice.turn();
      const one = { path: within(place.path, entry), name: place.name === "" ? entry.toString() : `${place.name}/${entry}` };
      const stat = described(one.path);
      if (!stat) continue;
      if (stat.isDirectory()) {
        if (!OF_THE_KERNEL.has(one.path.toString())) below.push(one);
      } else if (stat.isSymbolicLink()) gathered.add(...linkOf(one, stat));
      else if (stat.isFile()) yield* fileOf(one, gathered);
      if (gathered.isFull) yield gathered.take();
    }
    left.push(...below.reverse());
  }
  gathered.add(tarEnd());
  yield gathered.take();
}

/** Small pieces are sent together. */
class Gathered {
  private pieces: Bytes[] = [];
  private bytes = 0;

  get isFull(): boolean {
    return this.bytes >= LIMITS.readBytes;
  }

  add(...pieces: readonly Bytes[]): void {
    for (const piece of pieces) {
      this.pieces.push(piece);
      this.bytes += piece.length;
    }
  }

  take(): Bytes {
    const all = Buffer.concat(this.pieces);
    this.pieces = [];
    this.bytes = 0;
    return all;
  }
}

const factsOf = ({ mode, mtimeMs }: Stats) => ({ mode: mode & 0o7777, modified: Math.floor(mtimeMs / 1000) });

function within(directory: Buffer, name: Buffer): Buffer {
  return directory.equals(SLASH) ? Buffer.concat([directory, name]) : Buffer.concat([directory, SLASH, name]);
}

/** Undefined for what has gone. The directory that was asked for may be a link. */
function described(path: Buffer, follow = false): Stats | undefined {
  return orLeftOut(() => (follow ? lstatSync(Buffer.concat([path, Buffer.from("/.")])) : lstatSync(path)));
}

function linkOf({ path, name }: Place, stat: Stats): Bytes[] {
  const target = orLeftOut(() => readlinkSync(path));
  return target === undefined ? [] : tarEntry({ ...factsOf(stat), name, size: 0, type: "symlink", target });
}

/** Header, content and padding. The size is that of the opened file, and so many bytes follow, whatever becomes of it. */
async function* fileOf({ path, name }: Place, gathered: Gathered): AsyncGenerator<Bytes> {
  // Not through a link, and without waiting for a writer: it may have been replaced since it was looked at.
  const fd = orLeftOut(() => openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK));
  if (fd === undefined) return;
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) return;
    const { size } = stat;
    gathered.add(...tarEntry({ ...factsOf(stat), name, size }));
    if (size <= LIMITS.wholeBytes) gathered.add(filled(readNow(fd, 0, size), size), tarPadding(size));
    else {
      for (let position = 0; position < size; ) {
        if (gathered.isFull) yield gathered.take();
        const length = Math.min(LIMITS.readBytes, size - position);
        gathered.add(filled(await readSome(fd, position, length), length));
        position += length;
      }
      gathered.add(tarPadding(size));
    }
  } finally {
    closeSync(fd);
  }
}

/** As many bytes as were announced: zeros where the file has become shorter. */
function filled(bytes: Bytes, length: number): Bytes {
  if (bytes.length === length) return bytes;
  const all = new Uint8Array(length);
  all.set(bytes);
  return all;
}

async function readSome(fd: number, position: number, length: number): Promise<Bytes> {
  const buffer = new Uint8Array(length);
  let done = 0;
  while (done < length) {
    const at = done;
    const count = await new Promise<number>((resolve, reject) =>
      read(fd, buffer, at, length - at, position + at, (error, n) => (error ? reject(error) : resolve(n))),
    );
    if (count === 0) break;
    done += count;
  }
  return buffer.subarray(0, done);
}

async function namesIn(path: Buffer): Promise<Buffer[]> {
  try {
    const names = await new Promise<Buffer[]>((resolve, reject) =>
      readdir(path, "buffer", (error, found) => (error ? reject(error) : resolve(found))),
    );
    return names.sort(Buffer.compare);
  } catch (error) {
    if (LEFT_OUT.has(errnoOf(error) ?? "")) return [];
    throw error;
  }
}

function orLeftOut<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (LEFT_OUT.has(errnoOf(error) ?? "")) return undefined;
    throw error;
  }
}
