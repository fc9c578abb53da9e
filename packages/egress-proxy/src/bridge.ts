import { BULK_BYTES, type Connection, type ConnectionOwner } from "@boxyard/http1";

/** How long what is still to be written to a peer may take once the other one has gone. */
const FLUSH_MS = 10_000;

/** Ends a connection whose other side has gone: what that side has sent still goes out, for some time. */
export function flushAndEnd(connection: Connection): void {
  connection.end();
  if (!connection.isBehind) return;
  const timer = setTimeout(() => connection.destroy(), FLUSH_MS);
  connection.onDestroy = () => clearTimeout(timer);
}

/** Passes the bytes of two connections on to each other, and the end of each. `onClosed` is called when the first one has ended. */
export function bridge(one: Connection, other: Connection, onClosed = () => {}): void {
  const [out, back] = [new Passage(one, other), new Passage(other, one)];
  const first = owner(out, back);
  one.owner = {
    ...first,
    onClose() {
      onClosed();
      first.onClose();
    },
  };
  other.owner = owner(back, out);
}

const owner = (from: Passage, to: Passage): ConnectionOwner => ({
  onData: (bytes) => from.pass(bytes),
  onEnd: () => from.end(),
  onDrain: () => to.goOn(),
  onClose: () => from.close(),
});

/** Passes the bytes of a connection on to another. Of those that come faster than they are read the kernel moves what it holds itself. */
class Passage {
  private readonly from: Connection;
  private readonly to: Connection;
  private isBulk = false;

  constructor(from: Connection, to: Connection) {
    this.from = from;
    this.to = to;
  }

  pass(bytes: Buffer): void {
    this.isBulk = bytes.byteLength >= BULK_BYTES;
    if (!this.to.write(bytes)) this.from.pause();
    this.move();
  }

  /** The target has taken all that was written. */
  goOn(): void {
    this.move();
    if (!this.to.isBehind) this.from.resume();
  }

  end(): void {
    this.to.halfClose();
  }

  close(): void {
    flushAndEnd(this.to);
  }

  private move(): void {
    if (!this.isBulk) return;
    this.from.moveTo(this.to, Number.POSITIVE_INFINITY);
    if (this.to.isBehind) this.from.pause();
  }
}
