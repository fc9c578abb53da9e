import { close } from "node:fs";
import { KernelError } from "@boxyard/core/errno";
import { LIMITS } from "../limits.ts";
import { TimeSlice } from "../time-slice.ts";
import { errno, libc, ptr } from "./libc.ts";

/*
 * One inotify instance. Its descriptor is read as a stream: the runtime waits for it in its epoll set, without polling and without a thread that
 * blocks in read(2).
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
/** File that is watched for a moment to mark a place among the records. Not a directory, so that no other watch has its number. */
const MARK_FILE = "/proc/self/exe";
/** Buffer for the path of the current system call. */
const PATH = Buffer.alloc(LIMITS.pathBytes);

export interface InotifyRecord {
  /** Number of its watch; -1 when the kernel's queue overflowed. */
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
  /** Chunks that were read and not yet reported. */
  private readonly unread: Uint8Array[] = [];
  private unreadBytes = 0;
  /** Bytes of a record that is not complete yet. */
  private rest: Buffer = Buffer.alloc(0);
  private isReporting = false;
  private reporting: Promise<void> | undefined;
  /** Callbacks for the record that says that the watch of this number is gone. */
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
    if (fd < 0) throw new KernelError("inotify_init1", errno());
    const inotify = new Inotify(fd, onRecord, onEnd);
    inotify.pump().catch(inotify.onEnd);
    return inotify;
  }

  /** Watches a directory; the same directory has the same number. `path`: raw (`raw-name.ts`). Throws `ENOSPC` (too many watches), `ENOENT`, `ENOTDIR`. */
  add(path: string, mask: number): number {
    if (path.length >= PATH.length) throw new KernelError("inotify_add_watch", ENAMETOOLONG);
    PATH[PATH.write(path, 0, "latin1")] = 0;
    const wd = libc().inotify_add_watch(this.fd, ptr(PATH), mask | IN.ONLYDIR);
    if (wd < 0) throw new KernelError("inotify_add_watch", errno());
    return wd;
  }

  /** Removes a watch; no error if it is gone already. */
  remove(wd: number): void {
    libc().inotify_rm_watch(this.fd, wd);
  }

  /**
   * Resolves when all earlier changes are reported. Adding a watch and removing it puts a record behind all others: the one that says that the
   * watch is gone.
   */
  async drained(): Promise<void> {
    const path = Buffer.from(`${MARK_FILE}\0`);
    const wd = libc().inotify_add_watch(this.fd, ptr(path), IN.ATTRIB);
    // Without room for one more watch there is no mark. The next poll reports what this one misses.
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
    // close(2) of an inotify instance waits for a grace period of the kernel, so another thread does it.
    close(this.fd, () => {});
  }

  /** Reads on while records are reported, because the kernel drops events that its queue cannot hold. */
  private async pump(): Promise<void> {
    for (;;) {
      const { done, value } = await this.reader.read();
      if (done) return this.onEnd(new Error("inotify has ended"));
      this.unread.push(value);
      this.unreadBytes += value.length;
      if (!this.isReporting) this.reporting = this.reportAll();
      if (this.unreadBytes >= LIMITS.readAheadBytes) await this.reporting;
    }
  }

  private async reportAll(): Promise<void> {
    this.isReporting = true;
    try {
      const slice = new TimeSlice();
      for (let chunk = this.unread.shift(); chunk && !this.isClosed; chunk = this.unread.shift()) {
        this.unreadBytes -= chunk.length;
        this.rest = await this.reportChunk(
          this.rest.length > 0 ? Buffer.concat([this.rest, chunk]) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length),
          slice,
        );
      }
    } catch (error) {
      this.onEnd(error);
    } finally {
      // In the same turn as the last `shift`, so that no chunk is added in between.
      this.isReporting = false;
    }
  }

  private report(record: InotifyRecord): void {
    // The kernel also drops marks when its queue is full, and reports that it did.
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

  /** Reports whole records, and lets other requests run in between; returns the bytes of an incomplete record. */
  private async reportChunk(bytes: Buffer, slice: TimeSlice): Promise<Buffer> {
    let at = 0;
    while (at + HEADER_BYTES <= bytes.length) {
      const end = at + HEADER_BYTES + bytes.readUInt32LE(at + 12);
      if (end > bytes.length) break;
      this.report(recordAt(bytes, at, end));
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
  // The name is padded with NULs.
  let last = end;
  while (last > start && bytes[last - 1] === 0) last--;
  return {
    wd: bytes.readInt32LE(at),
    mask: bytes.readUInt32LE(at + 4),
    cookie: bytes.readUInt32LE(at + 8),
    name: last === start ? "" : bytes.toString("latin1", start, last),
  };
}
