import { close } from "node:fs";
import { LIMITS } from "../limits.ts";
import { TimeSlice } from "../time-slice.ts";
import { SysError } from "./errno.ts";
import { errno, libc, ptr } from "./libc.ts";

/*
 * One inotify instance. Its descriptor is read as a stream: the runtime waits for it in its own epoll set, so there is neither polling nor
 * a thread that sits in read(2).
 */

export const IN = {
  MODIFY: 0x2,
  ATTRIB: 0x4,
  MOVED_FROM: 0x40,
  MOVED_TO: 0x80,
  CREATE: 0x100,
  DELETE: 0x200,
  DELETE_SELF: 0x400,
  MOVE_SELF: 0x800,
  Q_OVERFLOW: 0x4000,
  IGNORED: 0x8000,
  ONLYDIR: 0x0100_0000,
  DONT_FOLLOW: 0x0200_0000,
  ISDIR: 0x4000_0000,
} as const;

const INIT_FLAGS = 0o2000000 | 0o4000;
const HEADER_BYTES = 16;
const ENAMETOOLONG = 36;
/** Watched for a moment to mark a place among the records. No directory, so nobody else's watch has its number. */
const MARK_FILE = "/proc/self/exe";
/** A path on its way to the kernel; one at a time. */
const PATH = Buffer.alloc(LIMITS.pathBytes);

export interface InotifyRecord {
  /** Watch it belongs to; -1 when the queue has overflown. */
  readonly wd: number;
  readonly mask: number;
  /** Equal for both halves of a rename. */
  readonly cookie: number;
  /** Name in the watched directory, one character per byte; empty for the directory itself. */
  readonly name: string;
}

export class Inotify {
  private readonly fd: number;
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private readonly onRecord: (record: InotifyRecord) => void;
  private readonly onEnd: (error: unknown) => void;
  private isClosed = false;
  /** Read, and not told yet. */
  private readonly unread: Uint8Array[] = [];
  private unreadBytes = 0;
  /** The beginning of a record. */
  private rest: Buffer = Buffer.alloc(0);
  private isTelling = false;
  private telling: Promise<void> | undefined;
  /** Who waits for the record that says that this number is watched no longer. */
  private readonly marks = new Map<number, () => void>();

  private constructor(fd: number, onRecord: (record: InotifyRecord) => void, onEnd: (error: unknown) => void) {
    this.fd = fd;
    this.onRecord = onRecord;
    this.onEnd = (error) => {
      this.passMarks();
      if (!this.isClosed) onEnd(error);
    };
    this.reader = Bun.file(fd).stream().getReader();
  }

  /** Throws `EMFILE` when the user has too many instances. `onEnd` is called when reading stops for another reason than `close`. */
  static open(onRecord: (record: InotifyRecord) => void, onEnd: (error: unknown) => void): Inotify {
    const fd = libc().inotify_init1(INIT_FLAGS);
    if (fd < 0) throw new SysError("inotify_init1", errno());
    const inotify = new Inotify(fd, onRecord, onEnd);
    inotify.pump().catch(inotify.onEnd);
    return inotify;
  }

  /** Watches a directory; the same one gives the same number. `path` is raw. Throws `ENOSPC` when there are too many watches, `ENOENT`, `ENOTDIR`. */
  add(path: string, mask: number): number {
    if (path.length >= PATH.length) throw new SysError("inotify_add_watch", ENAMETOOLONG);
    PATH[PATH.write(path, 0, "latin1")] = 0;
    const wd = libc().inotify_add_watch(this.fd, ptr(PATH), mask | IN.ONLYDIR);
    if (wd < 0) throw new SysError("inotify_add_watch", errno());
    return wd;
  }

  /** Its number may be gone already. */
  remove(wd: number): void {
    libc().inotify_rm_watch(this.fd, wd);
  }

  /**
   * Resolves when everything that has happened so far is told. A watch that is added and taken away again puts a record of its own behind all
   * others: the one that says that it is gone.
   */
  async drained(): Promise<void> {
    const path = Buffer.from(`${MARK_FILE}\0`);
    const wd = libc().inotify_add_watch(this.fd, ptr(path), IN.ATTRIB);
    // Without room for one more watch nothing can be marked; what is missing comes with the next question.
    if (wd < 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.marks.set(wd, resolve);
    this.remove(wd);
    await promise;
  }

  close(): void {
    this.isClosed = true;
    this.passMarks();
    this.reader.cancel().catch(() => {});
    // The kernel waits for a grace period here, so it is not done on this thread.
    close(this.fd, () => {});
  }

  /** Reads while records are still told: the kernel throws away what its queue can't hold. */
  private async pump(): Promise<void> {
    for (;;) {
      const { done, value } = await this.reader.read();
      if (done) return this.onEnd(new Error("inotify has ended"));
      this.unread.push(value);
      this.unreadBytes += value.length;
      if (!this.isTelling) this.telling = this.tellAll();
      if (this.unreadBytes >= LIMITS.readAheadBytes) await this.telling;
    }
  }

  private async tellAll(): Promise<void> {
    this.isTelling = true;
    try {
      const slice = new TimeSlice();
      for (let chunk = this.unread.shift(); chunk && !this.isClosed; chunk = this.unread.shift()) {
        this.unreadBytes -= chunk.length;
        this.rest = await this.tellChunk(
          this.rest.length > 0 ? Buffer.concat([this.rest, chunk]) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length),
          slice,
        );
      }
    } catch (error) {
      this.onEnd(error);
    } finally {
      // With the last look for a chunk, so that none comes in between.
      this.isTelling = false;
    }
  }

  private tell(record: InotifyRecord): void {
    // The kernel throws marks away too when its queue is full, and says that it did.
    if (record.mask & IN.Q_OVERFLOW) this.passMarks();
    const mark = this.marks.get(record.wd);
    if (!mark) this.onRecord(record);
    else if (record.mask & IN.IGNORED) {
      this.marks.delete(record.wd);
      mark();
    }
  }

  private passMarks(): void {
    for (const mark of this.marks.values()) mark();
    this.marks.clear();
  }

  /** Tells whole records, giving way to others; returns what is left over. */
  private async tellChunk(bytes: Buffer, slice: TimeSlice): Promise<Buffer> {
    let at = 0;
    while (at + HEADER_BYTES <= bytes.length) {
      const end = at + HEADER_BYTES + bytes.readUInt32LE(at + 12);
      if (end > bytes.length) break;
      this.tell(recordAt(bytes, at, end));
      at = end;
      const turn = slice.turn();
      if (turn) await turn;
      // The numbers of watches begin anew with the next instance.
      if (this.isClosed) break;
    }
    return bytes.subarray(at);
  }
}

function recordAt(bytes: Buffer, at: number, end: number): InotifyRecord {
  const start = at + HEADER_BYTES;
  // Filled up with NULs.
  let last = end;
  while (last > start && bytes[last - 1] === 0) last--;
  return {
    wd: bytes.readInt32LE(at),
    mask: bytes.readUInt32LE(at + 4),
    cookie: bytes.readUInt32LE(at + 8),
    name: last === start ? "" : bytes.toString("latin1", start, last),
  };
}
