import type { Socket } from "bun";

interface Ends {
  other: Socket<Ends> | undefined;
  waiting: Buffer[];
}

/** The network between one server and its database, which a test can cut: then nothing arrives, and nobody is told. */
export class DatabaseLink {
  readonly url: string;
  private readonly listener: Bun.TCPSocketListener<Ends>;
  private readonly sockets = new Set<Socket<Ends>>();
  private isCut = false;

  /** `url`: address of the database. */
  constructor(url: string) {
    const { hostname, port } = new URL(url);
    const drop = (socket: Socket<Ends>) => {
      this.sockets.delete(socket);
      if (!this.isCut) socket.data.other?.end();
    };
    const pass = (socket: Socket<Ends>, bytes: Buffer) => {
      const { other, waiting } = socket.data;
      if (this.isCut) return;
      // Statements and rows of these tests are far smaller than a socket's buffer.
      if (other) other.write(bytes);
      else waiting.push(Buffer.from(bytes));
    };
    const handlers = { data: pass, close: drop, error: drop };
    this.listener = Bun.listen<Ends>({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        ...handlers,
        open: (client) => {
          this.sockets.add(client);
          client.data = { other: undefined, waiting: [] };
          const open = (server: Socket<Ends>) => {
            this.sockets.add(server);
            client.data.other = server;
            for (const bytes of client.data.waiting) server.write(bytes);
          };
          const data = { other: client, waiting: [] };
          Bun.connect<Ends>({ hostname, port: Number(port), data, socket: { ...handlers, open } }).catch(() => client.end());
        },
      },
    });
    const own = new URL(url);
    own.port = String(this.listener.port);
    this.url = own.href;
  }

  cut(): void {
    this.isCut = true;
  }

  /** Lets new connections through. Those from before end, as after a long partition. */
  heal(): void {
    for (const socket of [...this.sockets]) socket.terminate();
    this.sockets.clear();
    this.isCut = false;
  }

  [Symbol.dispose](): void {
    this.heal();
    this.listener.stop(true);
  }
}
