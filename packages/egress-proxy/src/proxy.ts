import {
  ClientConnection,
  type ClientHost,
  Connection,
  type Exchange,
  FieldNames,
  type HeadError,
  type RequestHead,
  UpstreamPool,
} from "@boxyard/http1";
import type { Socket, TCPSocketListener } from "bun";
import type { Ways } from "./connect.ts";
import { HttpRelay } from "./http-relay.ts";
import { Names } from "./names.ts";
import type { EgressProxyConfig } from "./protocol.ts";
import { Rules } from "./rules.ts";
import { TlsRelay } from "./tls-relay.ts";

/** How often connections beyond their time, and those to lost peers, are looked for. */
const SWEEP_MS = 1000;
/** A peer that acknowledges nothing for so long is lost. */
const PEER_LIMIT_MS = 60_000;
/** How long an address that another process still holds is asked for again. */
const LISTEN_MS = 2000;
const LISTEN_AGAIN_MS = 50;

/** An exchange after its connection was reset. */
const OVER: Exchange = { onBody() {}, onBodyEnd() {}, onClientDrain() {}, onClientClosed() {} };

/**
 * Takes the connections of sandboxes to ports 80 and 443, which the router's rules lead here, and passes on those to hosts that the sandbox may reach
 * by name. Everything else is reset.
 */
export class EgressProxy {
  readonly rules = new Rules();
  private readonly config: EgressProxyConfig;
  private readonly ways: Ways;
  private readonly now = () => performance.now();
  /** Every connection of a sandbox. */
  private readonly clients = new Set<Connection>();
  private listeners: TCPSocketListener<Connection>[] = [];
  private sweeper: Timer | undefined;

  constructor(config: EgressProxyConfig) {
    this.config = config;
    this.ways = { names: new Names(config.nameServer, this.now), pool: new UpstreamPool(this.now, PEER_LIMIT_MS) };
  }

  /** Listens. Waits up to two seconds for the addresses, which an earlier proxy may hold until it has ended. */
  async open(): Promise<void> {
    const { address, httpPort, tlsPort } = this.config;
    this.listeners.push(await listen(address, httpPort, (socket) => this.accept(socket, this.onHttp)));
    this.listeners.push(await listen(address, tlsPort, (socket) => this.accept(socket, this.onTls)));
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS);
  }

  close(): void {
    clearInterval(this.sweeper);
    for (const listener of this.listeners) listener.stop(true);
    this.listeners = [];
    for (const client of [...this.clients]) client.destroy();
  }

  private accept(socket: Socket<Connection>, take: (client: Connection, address: string, leave: () => void) => Connection): void {
    const address = socket.remoteAddress;
    const leave = this.rules.enter(address);
    if (!leave) {
      socket.data = new Connection();
      socket.terminate();
      return;
    }
    const connection = take(new Connection(), address, leave);
    socket.data = connection;
    connection.attach(socket);
    socket.setNoDelay(true);
    connection.keepAlive(PEER_LIMIT_MS);
    this.clients.add(connection);
    connection.onClosed = () => {
      this.clients.delete(connection);
      leave();
    };
  }

  private readonly onTls = (connection: Connection, address: string, leave: () => void): Connection => {
    new TlsRelay({ rules: this.rules, ways: this.ways, now: this.now }, address, connection, leave);
    return connection;
  };

  private readonly onHttp = (_connection: Connection, address: string): Connection =>
    new ClientConnection(new HttpSide(this.rules, this.ways, this.now, address)).connection;

  private sweep(): void {
    const now = this.now();
    for (const client of [...this.clients]) if (client.deadline <= now || client.isPeerLost(PEER_LIMIT_MS)) client.destroy();
    this.ways.pool.sweep();
    this.ways.pool.dropLost();
  }
}

/** Answers the requests of one connection to port 80. */
class HttpSide implements ClientHost {
  readonly names = NAMES;
  readonly now: () => number;
  private readonly rules: Rules;
  private readonly ways: Ways;
  private readonly address: string;

  constructor(rules: Rules, ways: Ways, now: () => number, address: string) {
    this.rules = rules;
    this.ways = ways;
    this.now = now;
    this.address = address;
  }

  exchange(request: RequestHead, client: ClientConnection): Exchange {
    const host = this.rules.allowed(this.address, hostOf(request));
    if (host === undefined) {
      client.abort();
      return OVER;
    }
    return new HttpRelay({ rules: this.rules, ways: this.ways }, this.address, host, request, client);
  }

  malformed(_error: HeadError, client: ClientConnection): void {
    client.abort();
  }

  onClosed(): void {}
}

const NAMES = new FieldNames();

/** The host without its port, which the sandbox may name or leave out. Undefined for another port: the connection goes to port 80. */
function hostOf({ host }: RequestHead): string | undefined {
  const [name, port = "80", ...more] = host.split(":");
  return more.length === 0 && port === "80" ? name : undefined;
}

async function listen(hostname: string, port: number, open: (socket: Socket<Connection>) => void): Promise<TCPSocketListener<Connection>> {
  const giveUpAt = performance.now() + LISTEN_MS;
  for (;;) {
    try {
      return Bun.listen<Connection>({ hostname, port, allowHalfOpen: true, socket: { ...Connection.handlers, open } });
    } catch (error) {
      if ((error as { code?: unknown }).code !== "EADDRINUSE" || performance.now() > giveUpAt) throw error;
      await Bun.sleep(LISTEN_AGAIN_MS);
    }
  }
}
