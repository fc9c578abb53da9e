import type { Socket } from "bun";
import { type Borrowed, moveInKernel } from "./kernel-relay.ts";
import { isPeerLost, keepAlive } from "./lost-peer.ts";
import type { ResponseReader } from "./response-reader.ts";

/** Receives the events of a connection. */
export interface ConnectionOwner {
  onData(bytes: Buffer): void;
  /** The peer has sent its last byte; writing is still possible. */
  onEnd(): void;
  /** The kernel has taken everything that was written. */
  onDrain(): void;
  onClose(): void;
}

/** Queued bytes from which on `write` returns false. */
const HIGH_WATER = 256 << 10;
/** After a received piece of this size more bytes are likely, so it is worth the system calls to let the kernel forward them. */
export const BULK_BYTES = 64 << 10;
/** Bytes that are moved at a time for one connection, so that others are served within a millisecond. */
const MOVE_BYTES = 2 << 20;

/** Buffer in which `writeBoth` joins two small pieces. Unused between calls. */
const SCRATCH = new Uint8Array(32 << 10);

/** One TCP connection, with or without TLS. Bytes that the kernel does not take at once are queued; the result of `write` tells the caller to pause its source. */
export class Connection {
  owner: ConnectionOwner | undefined;
  /** Monotonic ms after which the sweep of idle connections closes this one. Infinity: never. */
  deadline = Number.POSITIVE_INFINITY;
  closed = false;
  /** The socket is one with TLS: to be set before its first bytes. */
  tls = false;
  /** Address of the server that it was opened to. */
  peer: string | undefined;
  /** Bytes that the peer has sent, and that the kernel has taken for it; of TLS those within. */
  receivedBytes = 0;
  sentBytes = 0;
  /** Called by `destroy`. */
  onDestroy: (() => void) | undefined;
  /** Called once it is closed, also when its owner has changed. */
  onClosed: (() => void) | undefined;
  /** Reader for the answers on this connection, kept between requests. */
  answers: ResponseReader | undefined;
  private socket: Socket<Connection> | undefined;
  private queue: Uint8Array[] = [];
  private queuedBytes = 0;
  /** Borrowed buffer of the first piece of the queue, if any. */
  private borrowed: Borrowed | undefined;
  private ending = false;
  private halfClosing = false;
  private paused = false;

  /** Address of the other side; empty before the socket is there. */
  get remoteAddress(): string {
    return this.socket?.remoteAddress ?? "";
  }

  /** What both sides of TLS agreed to speak (ALPN); undefined: nothing was agreed. */
  get protocol(): string | undefined {
    return (this.socket as { readonly alpnProtocol?: string | false | null } | undefined)?.alpnProtocol || undefined;
  }

  attach(socket: Socket<Connection>): void {
    this.socket = socket;
  }

  /** Writes or queues all bytes. False: the caller should pause until `onDrain`. */
  write(data: Uint8Array): boolean {
    if (this.closed || this.ending || this.halfClosing || !this.socket) return true;
    if (this.queue.length > 0) {
      this.enqueue(data);
      return this.queuedBytes < HIGH_WATER;
    }
    const written = this.give(this.socket, data);
    if (written === data.byteLength) return true;
    this.enqueue(data.subarray(written));
    return this.queuedBytes < HIGH_WATER;
  }

  /** `write` of two pieces, in one system call if they are small. */
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
    const written = this.queue.length > 0 ? 0 : this.give(this.socket, both);
    if (written === total) return true;
    this.enqueue(both.slice(written));
    return this.queuedBytes < HIGH_WATER;
  }

  /** Makes the kernel probe a silent peer; see `isPeerLost`. */
  keepAlive(limitMs: number): void {
    keepAlive(this.descriptor, limitMs);
  }

  /** Whether the peer has not acknowledged retransmitted bytes or probes for so long. */
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
   * Lets the kernel forward up to `limit` received bytes to `target`, to which nothing else may be written meanwhile. Returns how many. Moves nothing
   * while `target` is behind; if it is behind afterwards, the caller should pause until it drains. A connection that turns out to be broken is destroyed
   * once the caller has counted what was moved.
   */
  moveTo(target: Connection, limit: number): number {
    // What the kernel holds of a connection with TLS is encrypted.
    if (
      this.tls ||
      target.tls ||
      this.closed ||
      target.closed ||
      target.isBehind ||
      target.ending ||
      target.halfClosing ||
      limit < BULK_BYTES
    )
      return 0;
    const { taken, rest, broken } = moveInKernel(this.descriptor, target.descriptor, Math.min(limit, MOVE_BYTES));
    if (broken) queueMicrotask(() => (broken === "source" ? this : target).destroy());
    this.receivedBytes += taken;
    target.sentBytes += taken - (rest?.bytes.byteLength ?? 0);
    if (rest) target.writeBorrowed(rest);
    return taken;
  }

  /** Writes a borrowed buffer. The queue must be empty. */
  private writeBorrowed(rest: Borrowed): void {
    this.write(rest.bytes);
    if (this.queue.length === 0) rest.release();
    else this.borrowed = rest;
  }

  /** Ends the connection once everything is written. */
  end(): void {
    if (this.closed || this.ending) return;
    this.ending = true;
    if (this.queue.length === 0) this.socket?.end();
  }

  /** Ends the sending side once everything is written, and goes on reading. */
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

  /** Descriptor of the socket, which Bun's types lack; -1 when there is none. */
  get descriptor(): number {
    return (this.socket as { readonly fd?: number } | undefined)?.fd ?? -1;
  }

  /** Gives bytes to the kernel. Returns how many it took. */
  private give(socket: Socket<Connection>, data: Uint8Array): number {
    const written = Math.max(0, socket.write(data));
    this.sentBytes += written;
    return written;
  }

  private enqueue(data: Uint8Array): void {
    this.queue.push(data);
    this.queuedBytes += data.byteLength;
  }

  private flush(): void {
    while (this.queue.length > 0 && this.socket && !this.closed) {
      const first = this.queue[0] as Uint8Array;
      const written = this.give(this.socket, first);
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
      socket.data.receivedBytes += bytes.byteLength;
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
    // After an error of the kernel Bun calls `close`; after an exception in a handler it does not.
    error(socket: Socket<Connection>): void {
      socket.data.destroy();
    },
  };
}
