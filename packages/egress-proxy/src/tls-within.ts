import { Connection, type UpstreamOwner, type UpstreamPool, type UpstreamTls } from "@boxyard/http1";
import type { Socket } from "bun";
import { bridge } from "./bridge.ts";

let count = 0;

/**
 * Begins TLS within a connection that is there already. Bun begins TLS only where it connects: so it connects to an abstract socket of this process, whose
 * other end is joined to the connection. In this network namespace nobody but this process can connect to it.
 * `peer`: what `Connection.peer` says. `first`: bytes of the server that have come already.
 */
export function tlsWithin(
  pool: UpstreamPool,
  carrier: Connection,
  { peer, tls, first }: { peer: string; tls: UpstreamTls; first: Buffer },
  owner: UpstreamOwner,
): Connection {
  const path = `\0boxyard-within-${process.pid}-${++count}`;
  let isTaken = false;
  const server = Bun.listen<Connection>({
    unix: path,
    allowHalfOpen: true,
    socket: {
      ...Connection.handlers,
      open(socket: Socket<Connection>) {
        const inner = new Connection();
        socket.data = inner;
        if (isTaken) return void socket.terminate();
        isTaken = true;
        inner.attach(socket);
        bridge(inner, carrier);
        if (first.byteLength > 0) inner.write(first);
        carrier.resume();
      },
    },
  });
  const settled: UpstreamOwner = {
    ...owner,
    onSettled() {
      server.stop();
      if (!isTaken) carrier.destroy();
      owner.onSettled();
    },
  };
  return pool.connect({ host: peer, port: 0, path, tls }, settled);
}
