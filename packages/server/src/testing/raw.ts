import type { Socket } from "bun";

interface Conversation {
  received: string;
  closed: boolean;
  wake: Set<() => void>;
}

const fresh = (): Conversation => ({ received: "", closed: false, wake: new Set() });

function waiters(talk: Conversation): void {
  for (const wake of [...talk.wake]) wake();
}

const handlers = {
  data(socket: Socket<Conversation>, bytes: Buffer) {
    socket.data.received += bytes.toString("latin1");
    waiters(socket.data);
  },
  close(socket: Socket<Conversation>) {
    socket.data.closed = true;
    waiters(socket.data);
  },
  error() {},
};

/** One side of a TCP connection, with everything that it has received. */
export class RawPeer {
  private readonly socket: Socket<Conversation>;

  constructor(socket: Socket<Conversation>) {
    this.socket = socket;
  }

  get received(): string {
    return this.socket.data.received;
  }

  get closed(): boolean {
    return this.socket.data.closed;
  }

  send(text: string): void {
    this.socket.write(Buffer.from(text, "latin1"));
  }

  end(): void {
    this.socket.end();
  }

  /** Reads no more. */
  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  reset(): void {
    this.socket.terminate();
  }

  /** Forgets what was received so far. */
  clear(): void {
    this.socket.data.received = "";
  }

  /** Waits until `until` is true of the received text; throws after 3 s, with that text in the message. */
  async wait(until: (received: string, closed: boolean) => boolean, what = "the expected bytes"): Promise<string> {
    const talk = this.socket.data;
    const end = performance.now() + 3000;
    while (!until(talk.received, talk.closed)) {
      const left = end - performance.now();
      if (left <= 0) throw new Error(`waited for ${what}; got ${JSON.stringify(talk.received.slice(0, 2000))}, closed: ${talk.closed}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        const wake = () => {
          clearTimeout(timer);
          talk.wake.delete(wake);
          resolve();
        };
        talk.wake.add(wake);
      });
    }
    return talk.received;
  }

  includes(text: string): Promise<string> {
    return this.wait((received) => received.includes(text), JSON.stringify(text));
  }

  isClosed(): Promise<string> {
    return this.wait((_received, closed) => closed, "the end of the connection");
  }
}

export async function connectRaw(port: number, hostname = "127.0.0.1"): Promise<RawPeer> {
  return new RawPeer(await Bun.connect({ hostname, port, data: fresh(), socket: handlers }));
}

/** A TCP server that sends nothing by itself; tests answer byte by byte. */
export class RawServer {
  readonly peers: RawPeer[] = [];
  private readonly listener: Bun.TCPSocketListener<Conversation>;
  private readonly arrivals = new Set<() => void>();

  constructor(hostname = "127.0.0.1", port = 0) {
    this.listener = Bun.listen<Conversation>({
      hostname,
      port,
      socket: {
        ...handlers,
        open: (socket) => {
          socket.data = fresh();
          this.peers.push(new RawPeer(socket));
          for (const wake of this.arrivals) wake();
        },
      },
    });
  }

  get port(): number {
    return this.listener.port;
  }

  /** Waits for the connection with this index. */
  async peer(index: number): Promise<RawPeer> {
    const end = performance.now() + 3000;
    for (;;) {
      const peer = this.peers[index];
      if (peer) return peer;
      if (performance.now() > end) throw new Error(`connection ${index} never came`);
      await new Promise<void>((resolve) => {
        this.arrivals.add(resolve);
        setTimeout(resolve, 100);
      });
    }
  }

  stop(): void {
    this.listener.stop(true);
  }
}
