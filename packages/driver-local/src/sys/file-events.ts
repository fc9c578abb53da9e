import { close as closeFile } from "node:fs";
import { O, trySyscall } from "./libc.ts";

export const IN = { MODIFY: 0x2, OPEN: 0x20, IGNORED: 0x8000, MASK_ADD: 0x2000_0000, ISDIR: 0x4000_0000 } as const;
const HEADER = { watch: 0, mask: 4, nameBytes: 12, bytes: 16 } as const;
/** Number of the watch in the record that says that the kernel's queue was full. */
const OVERFLOW = -1;

/** `isSelf`: the event is about what is watched, not about a file in a watched directory. True also when events were lost. */
type Listener = (event: { readonly isSelf: boolean }) => void;

/**
 * Events of files, for the whole driver (inotify(7)). One instance in the epoll set of this process: no thread waits for it, and nobody has to look.
 * A lost or missing event must only cost time: who waits for one looks by itself too, seldom.
 */
export class FileEvents {
  private readonly fd: number;
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private readonly listeners = new Map<number, Set<Listener>>();
  private isClosed = false;

  private constructor(fd: number) {
    this.fd = fd;
    this.reader = Bun.file(fd).stream().getReader();
    this.pump().catch(() => this.close());
  }

  /** Undefined when this user has too many instances. */
  static open(): FileEvents | undefined {
    const fd = trySyscall("inotify_init1", O.NONBLOCK | O.CLOEXEC);
    return fd < 0 ? undefined : new FileEvents(fd);
  }

  /** Calls `listener` at each event of `mask` until the returned function is called. Undefined when the file is gone, or no watch is free. */
  watch(path: string, mask: number, listener: Listener): (() => void) | undefined {
    if (this.isClosed) return undefined;
    // Two listeners of one file share the watch.
    const watch = trySyscall("inotify_add_watch", this.fd, path, mask | IN.MASK_ADD);
    if (watch < 0) return undefined;
    const listeners = this.listeners.get(watch) ?? new Set();
    this.listeners.set(watch, listeners.add(listener));
    return () => {
      if (!listeners.delete(listener) || listeners.size > 0 || this.listeners.get(watch) !== listeners) return;
      this.listeners.delete(watch);
      if (!this.isClosed) trySyscall("inotify_rm_watch", this.fd, watch);
    };
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.reader.cancel().catch(() => {});
    // The kernel waits for a grace period here, so the call is made in another thread.
    closeFile(this.fd, () => {});
  }

  private async pump(): Promise<void> {
    let rest: Buffer = Buffer.alloc(0);
    while (!this.isClosed) {
      const { done, value } = await this.reader.read();
      if (done) return this.close();
      const bytes = Buffer.concat([rest, value]);
      let at = 0;
      while (at + HEADER.bytes <= bytes.length) {
        const end = at + HEADER.bytes + bytes.readUInt32LE(at + HEADER.nameBytes);
        if (end > bytes.length) break;
        this.tell(bytes.readInt32LE(at + HEADER.watch), bytes.readUInt32LE(at + HEADER.mask), end - at > HEADER.bytes);
        at = end;
      }
      rest = bytes.subarray(at);
    }
  }

  private tell(watch: number, mask: number, hasName: boolean): void {
    const told = watch === OVERFLOW ? [...this.listeners.values()].flatMap((set) => [...set]) : [...(this.listeners.get(watch) ?? [])];
    // The watch is gone with its file; its number is not used again.
    if (mask & IN.IGNORED) this.listeners.delete(watch);
    for (const listener of told) listener({ isSelf: !hasName });
  }
}
