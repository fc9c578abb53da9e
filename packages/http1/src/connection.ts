import type { Socket } from "bun";
import { type Borrowed, moveInKernel } from "./kernel-relay.ts";
import { isPeerLost, keepAlive } from "./lost-peer.ts";
import type { ResponseReader } from "./response-reader.ts";

/** What a connection tells its owner. */
export interface ConnectionOwner {
  onData(bytes: Buffer): void;
  /** The peer has sent its last byte; we may still write. */
  onEnd(): void;
  /** Everything written so far is with the kernel. */
  onDrain(): void;
  onClose(): void;
}

/** Bytes that may wait to be written before `write` asks its caller to stop. */
const HIGH_WATER = 256 << 10;
/** Pieces from this size on are a sign that there is more where they come from, and that it is worth a few calls to save copying it. */
export const BULK_BYTES = 64 << 10;
/** Moved at a time for one connection, so that the others get their turn within a millisecond. */
const MOVE_BYTES = 2 << 20;

/** Small pieces are put together here, to be written at once. Empty again when a call returns. */
const SCRATCH = new Uint8Array(32 << 10);

/** One TCP connection: writes are queued when the kernel takes no more, so that a caller need not care, but can hold its source back. */
export class Connection {
  owner: ConnectionOwner | undefined;
  /** For the sweep of idle connections: monotonic ms after which this one is closed. Infinity: never. */
  deadline = Number.POSITIVE_INFINITY;
  closed = false;
  /** Called when it is dropped before its end. */
  onDestroy: (() => void) | undefined;
  /** Called once it is closed; the owner may be another one by then. */
  onClosed: (() => void) | undefined;
  /** For readers of answers. */
  answers: ResponseReader | undefined;
  private socket: Socket<Connection> | undefined;
  private queue: Uint8Array[] = [];
  private queuedBytes = 0;
  /** What the queue begins with, when it is not ours. */
  private borrowed: Borrowed | undefined;
  private ending = false;
  private halfClosing = false;
  private paused = false;

  attach(socket: Socket<Connection>): void {
    this.socket = socket;
  }

  /** False: hold back until `onDrain`. Everything is taken in any case. */
  write(data: Uint8Array): boolean {
    if (this.closed || this.ending || this.halfClosing || !this.socket) return true;
    if (this.queue.length > 0) {
      this.enqueue(data);
      return this.queuedBytes < HIGH_WATER;
    }
    const written = Math.max(0, this.socket.write(data));
    if (written === data.byteLength) return true;
    this.enqueue(data.subarray(written));
    return this.queuedBytes < HIGH_WATER;
  }

  /** `write` of two pieces in one call of the kernel's, which matters for small ones. */
  writeBoth(first: Uint8Array, second: Uint8Array): boolean {
    const total = first.byteLength + second.byteLength;
    if (total > SCRATCH.byteLength) {
      this.write(first);
      return this.write(second);
    }
    SCRATCH.set(first);
    SCRATCH.set(second, first.byteLength);
    const both = SCRATCH.subarray(0, total);
    if (this.closed || this.ending || this.halfClosing || !this.socket) return true;
    const written = this.queue.length > 0 ? 0 : Math.max(0, this.socket.write(both));
    if (written === total) return true;
    this.enqueue(both.slice(written));
    return this.queuedBytes < HIGH_WATER;
  }

  /** Has the kernel ask a silent peer now and then; see `isPeerLost`. */
  keepAlive(limitMs: number): void {
    keepAlive(this.descriptor, limitMs);
  }

  /** Whether the peer has left the kernel without any answer for so long, though asked. */
  isPeerLost(limitMs: number): boolean {
    return !this.closed && isPeerLost(this.descriptor, limitMs);
  }

  get isPaused(): boolean {
    return this.paused;
  }

  /** True while something waits to be written. */
  get isBehind(): boolean {
    return this.queue.length > 0;
  }

  /**
   * Lets the kernel carry up to `limit` bytes that have come in here to `target`, which must get nothing else meanwhile. Returns how many.
   * When `target` is behind after it, hold back until it drains; while it is, nothing is moved.
   */
  moveTo(target: Connection, limit: number): number {
    if (this.closed || target.closed || target.isBehind || target.ending || target.halfClosing || limit < BULK_BYTES) return 0;
    const { taken, rest } = moveInKernel(this.descriptor, target.descriptor, Math.min(limit, MOVE_BYTES));
    if (rest) target.writeBorrowed(rest);
    return taken;
  }

  /** Nothing else waits to be written. */
  private writeBorrowed(rest: Borrowed): void {
    this.write(rest.bytes);
    if (this.queue.length === 0) rest.release();
    else this.borrowed = rest;
  }

  /** Ends our side once everything is written. */
  end(): void {
    if (this.closed || this.ending) return;
    this.ending = true;
    if (this.queue.length === 0) this.socket?.end();
  }

  /** Says that we send no more, but go on reading. */
  halfClose(): void {
    if (this.closed || this.ending || this.halfClosing) return;
    this.halfClosing = true;
    if (this.queue.length === 0) this.socket?.shutdown();
  }

  /** Drops the connection at once; the peer sees a reset. */
  destroy(): void {
    if (this.closed) return;
    this.closed = true;
    this.queue = [];
    this.socket?.terminate();
    this.onDestroy?.();
  }

  pause(): void {
    if (this.paused || this.closed) return;
    this.paused = true;
    this.socket?.pause();
  }

  resume(): void {
    if (!this.paused || this.closed) return;
    this.paused = false;
    this.socket?.resume();
  }

  /** Bun's sockets have it, its types do not say so. -1 when there is none. */
  private get descriptor(): number {
    return (this.socket as { readonly fd?: number } | undefined)?.fd ?? -1;
  }

  private enqueue(data: Uint8Array): void {
    this.queue.push(data);
    this.queuedBytes += data.byteLength;
  }

  private flush(): void {
    while (this.queue.length > 0 && this.socket && !this.closed) {
      const first = this.queue[0] as Uint8Array;
      const written = Math.max(0, this.socket.write(first));
      this.queuedBytes -= written;
      if (written < first.byteLength) {
        this.queue[0] = first.subarray(written);
        return;
      }
      this.queue.shift();
      this.borrowed?.release();
      this.borrowed = undefined;
    }
    if (this.closed) return;
    if (this.ending) this.socket?.end();
    else if (this.halfClosing) this.socket?.shutdown();
    else this.owner?.onDrain();
  }

  /** Handlers for `Bun.listen` and `Bun.connect`; one object serves every connection. */
  static readonly handlers = {
    data(socket: Socket<Connection>, bytes: Buffer): void {
      socket.data.owner?.onData(bytes);
    },
    drain(socket: Socket<Connection>): void {
      socket.data.flush();
    },
    end(socket: Socket<Connection>): void {
      socket.data.owner?.onEnd();
    },
    close(socket: Socket<Connection>): void {
      const connection = socket.data;
      connection.closed = true;
      connection.queue = [];
      connection.onClosed?.();
      connection.owner?.onClose();
    },
    // After an error of the kernel `close` follows by itself; after one of ours nothing would.
    error(socket: Socket<Connection>): void {
      socket.data.destroy();
    },
  };
}
