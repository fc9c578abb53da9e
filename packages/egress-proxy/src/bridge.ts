import type { Connection } from "@boxyard/http1";

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
  onClose: () => to.end(),
});
