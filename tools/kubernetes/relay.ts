import { connect, createServer, type Server, type Socket } from "node:net";

/** Where a relay listens or leads to. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

/** A port that leads to another place; each new connection asks which. Undefined: it is closed at once. */
export class Relay {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  private constructor(to: () => Place | undefined) {
    this.server = createServer({ allowHalfOpen: true }, (client) => {
      const place = to();
      if (!place) return void client.destroy();
      const target = connect({ ...place, allowHalfOpen: true });
      for (const [from, other] of [
        [client, target],
        [target, client],
      ] as const) {
        this.sockets.add(from);
        from.on("error", () => other.destroy());
        from.on("close", () => {
          this.sockets.delete(from);
          if (!from.readableEnded) other.destroy();
        });
        from.pipe(other);
      }
    });
  }

  static async open({ host, port }: Place, to: () => Place | undefined): Promise<Relay> {
    const relay = new Relay(to);
    await new Promise<void>((resolve, reject) => relay.server.once("error", reject).listen(port, host, resolve));
    return relay;
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}
