import type { Connection, UpstreamOwner, UpstreamPool } from "@boxyard/http1";
import type { Socket, UnixSocketListener } from "bun";
import { ANY_HTTP_1, HTTP_2, type Spoken } from "./alpn.ts";
import type { Attempt, HostOwner } from "./connect.ts";
import type { Identity } from "./protocol.ts";

/** Hosts for which TLS can be opened at once. Those that are not used make room. */
const MAX_LISTENERS = 2048;
/** A listener without connections ends after so long; its certificate is valid for longer. */
const IDLE_MS = 600_000;
const MAX_AGE_MS = 12 * 3_600_000;

export interface OpenedHostsParts {
  readonly pool: UpstreamPool;
  /** Monotonic ms. */
  readonly now: () => number;
  readonly certificateFor: (host: string) => Promise<Identity>;
  /** What the host is spoken to by, for a client that offers HTTP/2 too. */
  readonly spokenBy: (address: string, host: string) => Promise<Spoken>;
  /** Takes a connection of the sandbox with this address whose TLS ends here: calls `ready` once it has the connection's socket. Returns its connection. */
  readonly accept: (opened: Opened) => { readonly connection: Connection; ready?(): void };
  readonly handlers: typeof Connection.handlers;
}

/** The host of a sandbox for which TLS is opened, and what is spoken within. */
export interface Opened {
  readonly address: string;
  readonly host: string;
  readonly spoken: Spoken;
}

/** A host that the client of a sandbox has asked for. */
export interface Asked {
  readonly address: string;
  readonly host: string;
  readonly offersHttp2: boolean;
}

/** Where TLS ends for one host of one sandbox. */
interface Listener {
  readonly path: string;
  readonly server: UnixSocketListener<Connection>;
  readonly madeAt: number;
  connections: number;
  usedAt: number;
}

/**
 * Opens TLS. Each host of each sandbox has a listener of its own, on an abstract socket of this network namespace, where nobody but this process connects: so a
 * decrypted connection belongs to a sandbox and a host by where it arrives, and not by what it says.
 */
export class OpenedHosts {
  private readonly parts: OpenedHostsParts;
  private readonly listeners = new Map<string, Promise<Listener>>();
  private count = 0;

  constructor(parts: OpenedHostsParts) {
    this.parts = parts;
  }

  /** Connects to where TLS ends for this host: what is written there is what the client of the sandbox has sent. */
  reach(asked: Asked, owner: HostOwner): Attempt {
    let isOver = false;
    let current: Connection | undefined;
    const fail = () => {
      if (isOver) return;
      isOver = true;
      owner.onUnreachable();
    };
    const settled: UpstreamOwner = {
      onConnected() {
        if (isOver || !current) return;
        isOver = true;
        owner.onReached(current);
      },
      onConnectFailed: fail,
      onSettled() {},
      onData() {},
      onEnd() {},
      onDrain() {},
      onClose() {},
    };
    this.listenerOf(asked).then(({ path }) => {
      if (!isOver) current = this.parts.pool.connect({ host: "", port: 0, path }, settled);
    }, fail);
    return {
      cancel() {
        isOver = true;
        current?.destroy();
      },
    };
  }

  /** Ends listeners that nobody has used for long. */
  sweep(): void {
    for (const [key, made] of this.listeners)
      void made.then(
        (listener) => this.endIfIdle(key, made, listener, IDLE_MS),
        () => {},
      );
  }

  close(): void {
    for (const made of this.listeners.values())
      void made.then(
        ({ server }) => server.stop(true),
        () => {},
      );
    this.listeners.clear();
  }

  private async listenerOf({ address, host, offersHttp2 }: Asked): Promise<Listener> {
    const spoken = offersHttp2 ? await this.parts.spokenBy(address, host) : "http/1.1";
    return this.listenerFor({ address, host, spoken });
  }

  private async listenerFor(opened: Opened): Promise<Listener> {
    const key = `${opened.address}|${opened.spoken}|${opened.host}`;
    const { now } = this.parts;
    const known = await this.listeners.get(key)?.catch(() => undefined);
    if (known && now() - known.madeAt < MAX_AGE_MS) {
      known.usedAt = now();
      return known;
    }
    // Two connections may have waited for the same one.
    const again = this.listeners.get(key);
    const made = again && !known ? again : this.open(opened);
    this.listeners.set(key, made);
    // One that is too old takes no more connections; those that it has go on.
    known?.server.stop();
    made.catch(() => this.listeners.delete(key));
    this.makeRoom();
    return made;
  }

  private makeRoom(): void {
    if (this.listeners.size <= MAX_LISTENERS) return;
    for (const [key, made] of this.listeners)
      void made.then(
        (listener) => this.endIfIdle(key, made, listener, 1000),
        () => {},
      );
  }

  private endIfIdle(key: string, made: Promise<Listener>, { connections, usedAt, server }: Listener, idleMs: number): void {
    if (connections > 0 || this.parts.now() - usedAt < idleMs || this.listeners.get(key) !== made) return;
    this.listeners.delete(key);
    server.stop();
  }

  private async open(opened: Opened): Promise<Listener> {
    const { certificateFor, accept, handlers, now } = this.parts;
    const { cert, key } = await certificateFor(opened.host);
    if (this.listeners.size > 2 * MAX_LISTENERS) throw new Error("too many hosts");
    const path = `\0boxyard-egress-${process.pid}-${++this.count}`;
    const open = (socket: Socket<Connection>) => {
      const { connection, ready } = accept(opened);
      connection.tls = true;
      socket.data = connection;
      connection.attach(socket);
      listener.connections += 1;
      const { onClosed } = connection;
      connection.onClosed = () => {
        listener.connections -= 1;
        onClosed?.();
      };
      ready?.();
    };
    const tls = { cert, key, ALPNProtocols: opened.spoken === "h2" ? HTTP_2 : ANY_HTTP_1 };
    const server = Bun.listen<Connection>({
      unix: path,
      tls,
      allowHalfOpen: true,
      socket: { ...handlers, open },
    });
    const listener: Listener = { path, server, madeAt: now(), usedAt: now(), connections: 0 };
    return listener;
  }
}
