import { Connection } from "@boxyard/http1";

/** The other side of an inner socket: gets what is written to it. */
export interface InnerPeer {
  /** Takes bytes, which are used again afterwards. Returns how many; after fewer than all, `drained` is to be called. */
  take(bytes: Uint8Array): number;
  /** Nothing more is written. */
  onEnd(): void;
  /** The connection was reset. */
  onReset(): void;
  onPause(): void;
  onResume(): void;
}

/** A client's connection within this process, in the place of a socket of Bun's: a request of HTTP/2 is one of HTTP/1.1 on it. */
export class InnerSocket {
  /** Set by the front when it takes the connection. */
  data!: Connection;
  readonly remoteAddress: string;
  private readonly peer: InnerPeer;
  private closed = false;
  private ended = false;

  constructor(remoteAddress: string, peer: InnerPeer) {
    this.remoteAddress = remoteAddress;
    this.peer = peer;
  }

  /** As `Connection` and the front know sockets. */
  get socket(): Bun.Socket<Connection> {
    return this as unknown as Bun.Socket<Connection>;
  }

  setNoDelay(): void {}

  write(bytes: Uint8Array): number {
    return this.closed || this.ended ? bytes.byteLength : this.peer.take(bytes);
  }

  end(): void {
    this.shutdown();
    this.close();
  }

  shutdown(): void {
    if (this.closed || this.ended) return;
    this.ended = true;
    this.peer.onEnd();
  }

  terminate(): void {
    if (!this.closed && !this.ended) this.peer.onReset();
    this.close();
  }

  pause(): void {
    this.peer.onPause();
  }

  resume(): void {
    this.peer.onResume();
  }

  /** What the peer sends. */
  receive(bytes: Buffer): void {
    if (!this.closed) Connection.handlers.data(this.socket, bytes);
  }

  /** The peer takes bytes again. */
  drained(): void {
    if (!this.closed) Connection.handlers.drain(this.socket);
  }

  /** Repeatable. Those who hold it hear of it later, as with every socket. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    queueMicrotask(() => Connection.handlers.close(this.socket));
  }
}
