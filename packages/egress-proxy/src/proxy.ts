import type { HostPolicy } from "@boxyard/driver";
import { ClientConnection, Connection, UpstreamPool } from "@boxyard/http1";
import type { Socket, TCPSocketListener } from "bun";
import { Certificates } from "./certificates.ts";
import type { Ways } from "./connect.ts";
import { Http2Side } from "./http2/http2-side.ts";
import { ServerSessions } from "./http2/server-sessions.ts";
import { Names } from "./names.ts";
import { type Opened, OpenedHosts } from "./opened-hosts.ts";
import { OpenedSide } from "./opened-side.ts";
import { PlainSide } from "./plain-side.ts";
import type { EgressProxyConfig } from "./protocol.ts";
import { RawRelay } from "./raw-relay.ts";
import { type RecordingReports, Recordings } from "./recordings/recordings.ts";
import { Rules } from "./rules.ts";
import { TlsRelay } from "./tls-relay.ts";
import { type Traffic, type TrafficReport, TrafficReports } from "./traffic.ts";

const HTTP_PORT = 80;
const HTTPS_PORT = 443;
/** How often connections beyond their time, and those to lost peers, are looked for. */
const SWEEP_MS = 1000;
/** A peer that acknowledges nothing for so long is lost. */
const PEER_LIMIT_MS = 60_000;
/** How long an address that another process still holds is asked for again. */
const LISTEN_MS = 2000;
const LISTEN_AGAIN_MS = 50;

export interface ProxyReports extends RecordingReports {
  onTraffic(report: TrafficReport): void;
}

/** A connection of a sandbox that is being accepted. */
interface Accepted {
  readonly connection: Connection;
  readonly address: string;
  readonly leave: () => void;
  readonly traffic: Traffic;
}

/**
 * Takes the connections of sandboxes to ports 80 and 443, which the router's rules lead here, and passes on those to hosts that the sandbox may reach
 * by name. Of sandboxes whose traffic goes through a proxy it takes those to all ports. Everything else is reset.
 */
export class EgressProxy {
  readonly certificates: Certificates;
  /** Authorities by which servers are verified where TLS is opened, in PEM form; undefined: those that Bun brings. */
  trust: string | undefined;
  private readonly rules = new Rules();
  private readonly opened: OpenedHosts;
  private readonly recordings: Recordings;
  private readonly traffic: TrafficReports;
  private readonly sessions: ServerSessions;
  private readonly config: EgressProxyConfig;
  private readonly ways: Ways;
  private readonly now = () => performance.now();
  /** Every connection of a sandbox. */
  private readonly clients = new Set<Connection>();
  private listeners: TCPSocketListener<Connection>[] = [];
  private sweeper: Timer | undefined;
  private isClosing = false;

  /** `ask` asks the server for the certificate of a host, which it gives to `certificates`. `reports` get what recordings lack, and what connections move. */
  constructor(config: EgressProxyConfig, ask: (host: string) => void, reports: ProxyReports) {
    this.config = config;
    this.certificates = new Certificates(ask);
    const { now, certificates } = this;
    this.recordings = new Recordings(reports, now, config.diskReserve);
    // What a recording answers leaves no sandbox.
    this.traffic = new TrafficReports((report) => {
      if (!this.rules.isAnswered(report.address)) reports.onTraffic(report);
    }, now);
    const pool = new UpstreamPool(now, PEER_LIMIT_MS);
    this.ways = { names: new Names(config.nameServer, now), pool, trust: () => this.trust };
    this.sessions = new ServerSessions({ rules: this.rules, ways: this.ways, now, recordings: this.recordings });
    this.opened = new OpenedHosts({
      ...{ pool, now, handlers: Connection.handlers },
      certificateFor: (host) => certificates.find(host),
      spokenBy: (address, host) => this.sessions.spokenBy(address, host),
      accept: (opened) => this.acceptOpened(opened),
    });
  }

  /** Replaces the rules of a sandbox. At once connections that they do not allow are cut, and kept ones to its servers are closed; it resolves when its recording can be used. */
  async setRules(address: string, policy?: HostPolicy): Promise<void> {
    const recording = this.recordings.use(address, policy?.recording);
    this.rules.set(address, policy);
    this.ways.pool.sweep(`${address}|`);
    await recording;
  }

  /** Listens. Waits up to two seconds for the addresses, which an earlier proxy may hold until it has ended. */
  async open(): Promise<void> {
    const { address, httpPort, tlsPort, rawPort } = this.config;
    this.listeners.push(await listen(address, httpPort, (socket) => this.accept(socket, HTTP_PORT, this.onHttp)));
    this.listeners.push(await listen(address, tlsPort, (socket) => this.accept(socket, HTTPS_PORT, this.onTls)));
    this.listeners.push(await listen(address, rawPort, (socket) => this.acceptRaw(socket)));
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS);
  }

  /** Ends all connections, and writes to recordings what is accepted. */
  async close(): Promise<void> {
    this.isClosing = true;
    clearInterval(this.sweeper);
    this.opened.close();
    for (const client of [...this.clients]) client.destroy();
    await this.recordings.close();
    // Last: the next proxy waits for these addresses, and goes on with the same files.
    for (const listener of this.listeners) listener.stop(true);
    this.listeners = [];
  }

  /** `port`: the one that was asked for, as far as is known. `take` returns the connection of the socket, its own or the given one. */
  private accept(socket: Socket<Connection>, port: number, take: (accepted: Accepted) => Connection): void {
    const address = socket.remoteAddress;
    const leave = this.isClosing ? undefined : this.rules.enter(address);
    if (!leave) {
      socket.data = new Connection();
      socket.terminate();
      return;
    }
    const traffic = this.traffic.follow(address, port);
    const connection = take({ connection: new Connection(), address, leave, traffic });
    socket.data = connection;
    connection.attach(socket);
    traffic.begin(connection);
    socket.setNoDelay(true);
    connection.keepAlive(PEER_LIMIT_MS);
    this.clients.add(connection);
    connection.onClosed = () => {
      this.clients.delete(connection);
      this.traffic.leave(traffic);
      leave();
    };
  }

  private readonly onTls = ({ connection, address, leave, traffic }: Accepted): Connection => {
    const { rules, ways, opened, now, recordings } = this;
    new TlsRelay({ rules, ways, opened, now, recordings, traffic }, address, connection, leave);
    return connection;
  };

  private readonly onHttp = ({ address, traffic }: Accepted): Connection => {
    const { rules, ways, now, recordings } = this;
    return new ClientConnection(new PlainSide({ rules, ways, now, recordings, traffic }, address)).connection;
  };

  private acceptRaw(socket: Socket<Connection>): void {
    let relay: RawRelay | undefined;
    this.accept(socket, 0, ({ connection, address, leave, traffic }) => {
      const { rules, ways } = this;
      relay = new RawRelay({ rules, ways, traffic }, address, connection, leave);
      return connection;
    });
    relay?.begin();
  }

  /** A connection whose TLS ends here. It has the place of the one that brings its bytes. */
  private acceptOpened({ address, host, spoken }: Opened): { connection: Connection; ready?(): void } {
    const { rules, ways, now, sessions, recordings } = this;
    const isHttp2 = spoken === "h2";
    const side = () => new OpenedSide({ rules, ways, now, recordings }, address, host);
    const connection = isHttp2 ? new Connection() : new ClientConnection(side()).connection;
    this.clients.add(connection);
    connection.onClosed = () => this.clients.delete(connection);
    return { connection, ...(isHttp2 && { ready: () => void new Http2Side({ rules, sessions, address, host }, connection) }) };
  }

  private sweep(): void {
    const now = this.now();
    for (const client of [...this.clients]) if (client.deadline <= now || client.isPeerLost(PEER_LIMIT_MS)) client.destroy();
    this.ways.pool.sweep();
    this.traffic.sweep();
    this.opened.sweep();
    this.ways.pool.dropLost();
  }
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
