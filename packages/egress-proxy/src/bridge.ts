import type { Connection } from "@boxyard/http1";

/** How long what is still to be written to a peer may take once the other one has gone. */
const FLUSH_MS = 10_000;

/** Ends a connection whose other side has gone: what that side has sent still goes out, for some time. */
export function flushAndEnd(connection: Connection): void {
  connection.end();
  if (!connection.isBehind) return;
  const timer = setTimeout(() => connection.destroy(), FLUSH_MS);
  connection.onDestroy = () => clearTimeout(timer);
}

/** Passes the bytes of two connections on to each other, and the end of each. */
export function bridge(one: Connection, other: Connection): void {
  one.owner = passingTo(one, other);
  other.owner = passingTo(other, one);
}

const passingTo = (from: Connection, to: Connection) => ({
  onData(bytes: Buffer) {
    if (!to.write(bytes)) from.pause();
  },
  onEnd: () => to.halfClose(),
  onDrain: () => to.resume(),
  onClose: () => flushAndEnd(to),
});
