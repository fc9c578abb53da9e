import { close } from "node:fs";
import { SysError } from "./errno.ts";
import { cstring, errno, libc, ptr } from "./libc.ts";

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

export interface InotifyRecord {
  /** Watch it belongs to; -1 when the queue has overflown. */
  readonly wd: number;
  readonly mask: number;
  /** Equal for both halves of a rename. */
  readonly cookie: number;
  /** Name in the watched directory; empty for the directory itself. */
  readonly name: string;
}

export class Inotify {
  private readonly fd: number;
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private rest: Buffer = Buffer.alloc(0);

  private constructor(fd: number) {
    this.fd = fd;
    this.reader = Bun.file(fd).stream().getReader();
  }

  /** Throws `EMFILE` when the user has too many instances. `onEnd` is called when reading stops for another reason than `close`. */
  static open(onRecord: (record: InotifyRecord) => void, onEnd: (error: unknown) => void): Inotify {
    const fd = libc().inotify_init1(INIT_FLAGS);
    if (fd < 0) throw new SysError("inotify_init1", errno());
    const inotify = new Inotify(fd);
    inotify.pump(onRecord).catch(onEnd);
    return inotify;
  }

  /** Watches a directory; the same one gives the same number. Throws `ENOSPC` when there are too many watches, `ENOENT`, `ENOTDIR`. */
  add(path: string, mask: number): number {
    const name = cstring(path);
    const wd = libc().inotify_add_watch(this.fd, ptr(name), mask | IN.ONLYDIR);
    if (wd < 0) throw new SysError("inotify_add_watch", errno());
    return wd;
  }

  /** Its number may be gone already. */
  remove(wd: number): void {
    libc().inotify_rm_watch(this.fd, wd);
  }

  close(): void {
    this.reader.cancel().catch(() => {});
    // The kernel waits for a grace period here, so it is not done on this thread.
    close(this.fd, () => {});
  }

  private async pump(onRecord: (record: InotifyRecord) => void): Promise<void> {
    for (;;) {
      const { done, value } = await this.reader.read();
      if (done) return;
      this.rest = parse(this.rest.length > 0 ? Buffer.concat([this.rest, value]) : Buffer.from(value), onRecord);
    }
  }
}

/** Takes whole records; returns what is left over. */
function parse(bytes: Buffer, onRecord: (record: InotifyRecord) => void): Buffer {
  let at = 0;
  while (at + HEADER_BYTES <= bytes.length) {
    const length = bytes.readUInt32LE(at + 12);
    const end = at + HEADER_BYTES + length;
    if (end > bytes.length) break;
    const padded = bytes.toString("utf8", at + HEADER_BYTES, end);
    const nul = padded.indexOf("\0");
    onRecord({
      wd: bytes.readInt32LE(at),
      mask: bytes.readUInt32LE(at + 4),
      cookie: bytes.readUInt32LE(at + 8),
      name: nul < 0 ? padded : padded.slice(0, nul),
    });
    at = end;
  }
  return bytes.subarray(at);
}
