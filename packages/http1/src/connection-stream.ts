import { Duplex } from "node:stream";
import type { Connection } from "./connection.ts";

/** A connection as a stream of Node's, for its sessions of HTTP/2. It has the events of the connection from now on. */
export class ConnectionStream extends Duplex {
  private readonly connection: Connection;
  private onDrained: (() => void) | undefined;

  /** `onClosed`: called when the connection has closed. */
  constructor(connection: Connection, onClosed: () => void = () => {}) {
    super({ allowHalfOpen: false });
    this.connection = connection;
    connection.owner = {
      // A copy: the socket's buffer is used again.
      onData: (bytes) => {
        if (!this.push(Buffer.from(bytes))) connection.pause();
      },
      onEnd: () => this.push(null),
      onDrain: () => this.drained(),
      onClose: () => {
        this.drained();
        this.destroy();
        onClosed();
      },
    };
  }

  override _read(): void {
    this.connection.resume();
  }

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    if (this.connection.write(bytes)) done();
    else this.onDrained = done;
  }

  override _final(done: () => void): void {
    this.connection.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // What was written before an orderly end still goes out.
    if (error) this.connection.destroy();
    else this.connection.end();
    this.connection.resume();
    done(null);
  }

  private drained(): void {
    const { onDrained } = this;
    this.onDrained = undefined;
    onDrained?.();
  }
}
