import { closeSync } from "node:fs";
import type { Socket } from "bun";
import { Connection, type ConnectionOwner } from "./connection.ts";

/** Receives the result of `connect`, then the events of the connection. */
export interface UpstreamOwner extends ConnectionOwner {
  onConnected(): void;
  onConnectFailed(error: unknown): void;
  /** Connecting has ended, with success or not, also after the connection was destroyed meanwhile. Called before the other two. */
  onSettled(): void;
}

/** Another way to a port: resolves with the descriptor of a connection, which the caller closes; undefined when nothing listens there. */
export type ConnectInside = (port: number, signal: AbortSignal) => Promise<number | undefined>;

/** How TLS to a server begins. The server's certificate must be valid for `serverName`, and signed by one of `ca`. */
export interface UpstreamTls {
  readonly serverName: string;
  readonly ALPNProtocols?: string;
  /** In PEM form; absent: the authorities that Bun brings. */
  readonly ca?: string;
}

export interface UpstreamTarget {
  readonly host: string;
  readonly port: number;
  /** Tried when the host refuses the connection. */
  readonly inside?: ConnectInside | undefined;
  /** The server speaks TLS. `true`: its certificate is not checked, because the address says which server it is. */
  readonly tls?: boolean | UpstreamTls;
  /** Path of a Unix socket, in place of host and port. */
  readonly path?: string;
}

interface Idle {
  readonly connection: Connection;
  readonly until: number;
}

const CONNECT_MS = 10_000;
/** Without this option Bun ends a connection whose certificate it cannot verify. */
const WITH_TLS = { tls: { rejectUnauthorized: false } };
const MAX_IDLE_PER_TARGET = 32;

/**
 * Connections to servers, kept for a short time after use. The caller's key for a target must change when its address may belong to another server: the
 * proxy puts the sandbox's incarnation into it. A server may close a kept connection at any time; a request that is lost by that is never sent twice, so
 * connections are kept for less time than servers usually keep them.
 */
export class UpstreamPool {
  private readonly idle = new Map<string, Idle[]>();
  /** Every connection that was opened and is not closed. */
  private readonly open = new Set<Connection>();
  private readonly now: () => number;
  private readonly peerLimitMs: number;

  /** `now`: monotonic ms. A peer that acknowledges nothing for `peerLimitMs` is lost. */
  constructor(now: () => number, peerLimitMs: number) {
    this.now = now;
    this.peerLimitMs = peerLimitMs;
  }

  /** Resets connections to lost peers. */
  dropLost(): void {
    for (const connection of [...this.open]) if (connection.isPeerLost(this.peerLimitMs)) connection.destroy();
  }

  /** A kept connection, if there is one. */
  take(key: string): Connection | undefined {
    const list = this.idle.get(key);
    while (list && list.length > 0) {
      const entry = list.pop() as Idle;
      if (list.length === 0) this.idle.delete(key);
      if (!entry.connection.closed && entry.until > this.now()) return entry.connection;
      entry.connection.owner = undefined;
      entry.connection.destroy();
    }
    return undefined;
  }

  /** Keeps an unused connection for `keepMs`, or closes it when there are enough for its target. */
  put(key: string, connection: Connection, keepMs: number): void {
    const list = this.idle.get(key) ?? [];
    if (connection.closed || list.length >= MAX_IDLE_PER_TARGET) {
      connection.owner = undefined;
      connection.destroy();
      return;
    }
    // Any event of an idle connection, also unexpected bytes, makes it unusable.
    const drop = () => this.drop(key, connection);
    connection.owner = { onData: drop, onEnd: drop, onDrain: () => {}, onClose: drop };
    connection.resume();
    list.push({ connection, until: this.now() + keepMs });
    this.idle.set(key, list);
  }

  /** Opens a connection; the owner is called with the result. Fails after ten seconds. */
  connect({ host, port, inside, tls = false, path }: UpstreamTarget, owner: UpstreamOwner): Connection {
    const connection = new Connection();
    connection.tls = tls !== false;
    connection.owner = owner;
    connection.peer = host;
    let settled = false;
    const fail = (error: unknown) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      connection.destroy();
      owner.onSettled();
      owner.onConnectFailed(error);
    };
    const timer = setTimeout(() => fail(new Error("connecting took too long")), CONNECT_MS);
    const ready = (socket: Socket<Connection>) => {
      if (settled) return void socket.terminate();
      settled = true;
      clearTimeout(timer);
      connection.attach(socket);
      socket.setNoDelay(true);
      connection.keepAlive(this.peerLimitMs);
      this.open.add(connection);
      connection.onClosed = () => this.open.delete(connection);
      owner.onSettled();
      if (connection.closed) return void socket.terminate();
      owner.onConnected();
    };
    const begin =
      tls === false ? { open: ready } : tls === true ? afterHandshake(ready, fail) : afterHandshake(verified(ready, fail), fail);
    const secured = tls === false ? {} : tls === true ? WITH_TLS : { tls };
    const options = { data: connection, allowHalfOpen: true, ...secured, socket: { ...Connection.handlers, ...begin } };
    let isRefused = false;
    const refused = (error: unknown) => {
      // Bun reports a refusal twice.
      if (isRefused) return;
      isRefused = true;
      if (!inside || (error as { code?: unknown }).code !== "ECONNREFUSED") return fail(error);
      const giveUp = new AbortController();
      connection.onDestroy = () => giveUp.abort(new Error("the client has gone"));
      if (connection.closed) connection.onDestroy();
      const signal = AbortSignal.any([giveUp.signal, AbortSignal.timeout(CONNECT_MS)]);
      connectInside(inside, port, signal, (fd) => (settled || connection.closed ? undefined : { ...options, fd })).catch(fail);
    };
    const target = path === undefined ? { hostname: host, port } : { unix: path };
    Bun.connect({
      ...options,
      // The types ask for one call with a path, and one with a host.
      ...(target as { readonly hostname: string; readonly port: number }),
      socket: { ...options.socket, connectError: (_socket, error) => refused(error) },
    }).catch(refused);
    return connection;
  }

  /** Closes connections that were kept for too long, or with `prefix` all whose keys begin with it. */
  sweep(prefix?: string): void {
    const now = this.now();
    for (const [key, list] of this.idle) {
      for (const { connection, until } of [...list]) {
        if (prefix === undefined ? until <= now : key.startsWith(prefix)) this.drop(key, connection);
      }
    }
  }

  private drop(key: string, connection: Connection): void {
    connection.owner = undefined;
    connection.destroy();
    const list = this.idle.get(key);
    if (!list) return;
    const left = list.filter((entry) => entry.connection !== connection);
    if (left.length === 0) this.idle.delete(key);
    else this.idle.set(key, left);
  }
}

type Handshake = (socket: Socket<Connection>, isDone: boolean, error: Error | null) => void;

/** A connection is ready once the certificate of its server was found to be valid. */
const verified =
  (ready: (socket: Socket<Connection>) => void, fail: (error: unknown) => void): Handshake =>
  (socket, isDone, error) => {
    if (isDone && !error && socket.authorized) return ready(socket);
    fail(error ?? new Error("the server's certificate is not valid"));
    socket.terminate();
  };

/** Handlers of a connection that is ready once TLS is. */
const afterHandshake = (ready: Handshake, fail: (error: unknown) => void) => ({
  // So that a client that goes meanwhile ends it.
  open: (socket: Socket<Connection>) => socket.data.attach(socket),
  handshake: ready,
  close: (socket: Socket<Connection>) => {
    fail(new Error("the server ended the connection before TLS began"));
    Connection.handlers.close(socket);
  },
});

/** Connects by `inside`, for a server that listens on loopback only. `take` gives the options of the connection; undefined if it is no longer wanted. */
async function connectInside(
  inside: ConnectInside,
  port: number,
  signal: AbortSignal,
  take: (fd: number) => object | undefined,
): Promise<void> {
  const fd = await inside(port, signal);
  if (fd === undefined) throw new Error("nothing listens on this port");
  const options = take(fd);
  if (!options) {
    closeSync(fd);
    throw new Error("the connection is no longer wanted");
  }
  // Bun.connect accepts a descriptor; its types lack that.
  await Bun.connect(options as Parameters<typeof Bun.connect>[0]);
}
