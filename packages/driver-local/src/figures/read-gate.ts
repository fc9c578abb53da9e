import { close as closeFile, closeSync, fstatSync } from "node:fs";
import { AT_FDCWD, syscall, trySyscall } from "../sys/libc.ts";

/*
 * fanotify(7) with permission events: a reader of a marked file waits in the kernel until this process has answered. When this process ends, or
 * closes the group, all readers go on, so none is left waiting.
 */

const FAN_CLOEXEC = 0x1;
const FAN_NONBLOCK = 0x2;
const FAN_CLASS_CONTENT = 0x4;
/** There may be many sandboxes, each with a mark; only root may set this flag. */
const FAN_UNLIMITED_MARKS = 0x20;
const FAN_MARK = { ADD: 0x1, REMOVE: 0x2, DONT_FOLLOW: 0x4, IGNORED_MASK: 0x20, IGNORED_SURVIVES_WRITES: 0x40 } as const;
const FAN_ACCESS_PERM = 0x20000;
const FAN_ALLOW = 1;
/** struct fanotify_event_metadata. */
const EVENT = { length: 0, fd: 16 } as const;
const RESPONSE_BYTES = 8;

/** Holds each read of a marked file until the server has written the file. */
export class ReadGate {
  private readonly fd: number;
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private isClosed = false;

  private constructor(fd: number) {
    this.fd = fd;
    // Bun waits for it in its epoll set: without polling, and without a thread that blocks in read(2).
    this.reader = Bun.file(fd).stream().getReader();
  }

  /** Undefined where the kernel has no such events, or refuses them to this process. */
  static open(): ReadGate | undefined {
    const fd = trySyscall("fanotify_init", FAN_CLOEXEC | FAN_NONBLOCK | FAN_CLASS_CONTENT | FAN_UNLIMITED_MARKS, 0);
    return fd < 0 ? undefined : new ReadGate(fd);
  }

  /** From now on readers of this file wait. */
  mark(path: string): void {
    syscall("fanotify_mark", [this.fd, FAN_MARK.ADD | FAN_MARK.DONT_FOLLOW, FAN_ACCESS_PERM, AT_FDCWD, path], path);
  }

  /**
   * Readers of a marked file wait, or pass for now. The mark stays in both cases: since Linux 6.14, a file that is opened while no file of its file
   * system is marked has no events as long as it is open.
   */
  setPassing(path: string, passing: boolean): void {
    const verb = passing ? FAN_MARK.ADD : FAN_MARK.REMOVE;
    const flags = verb | FAN_MARK.DONT_FOLLOW | FAN_MARK.IGNORED_MASK | FAN_MARK.IGNORED_SURVIVES_WRITES;
    syscall("fanotify_mark", [this.fd, flags, FAN_ACCESS_PERM, AT_FDCWD, path], path);
  }

  /** Readers of this file no longer wait. Does nothing when there is no mark or no file. */
  unmark(path: string): void {
    trySyscall("fanotify_mark", this.fd, FAN_MARK.REMOVE | FAN_MARK.DONT_FOLLOW, FAN_ACCESS_PERM, AT_FDCWD, path);
  }

  /** Calls `before` with the inode number of a file that is about to be read, then lets the reader go on. Resolves at `close`, throws when reading fails. */
  async watch(before: (inode: number) => void): Promise<void> {
    for (;;) {
      const { done, value } = await this.reader.read();
      if (done || this.isClosed) return;
      const events = Buffer.from(value.buffer, value.byteOffset, value.length);
      for (let at = 0; at + EVENT.fd < events.length; at += Math.max(1, events.readUInt32LE(at + EVENT.length))) {
        this.answer(events.readInt32LE(at + EVENT.fd), before);
      }
    }
  }

  private answer(file: number, before: (inode: number) => void): void {
    if (file < 0) return;
    try {
      before(fstatSync(file).ino);
    } finally {
      this.allow(file);
      closeSync(file);
    }
  }

  private allow(file: number): void {
    const response = Buffer.alloc(RESPONSE_BYTES);
    response.writeInt32LE(file, 0);
    response.writeUInt32LE(FAN_ALLOW, 4);
    // Fails when the reader was killed while it waited, which needs no answer then.
    trySyscall("write", this.fd, response, RESPONSE_BYTES);
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.reader.cancel().catch(() => {});
    // The kernel waits for a grace period here, so the call is made in another thread.
    closeFile(this.fd, () => {});
  }
}
