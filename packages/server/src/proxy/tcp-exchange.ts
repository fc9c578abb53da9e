import {
  BULK_BYTES,
  type ClientConnection,
  type Connection,
  type Exchange,
  type RequestHead,
  type UpstreamOwner,
  type UpstreamPool,
} from "@boxyard/http1";
import { AGENT_PORT } from "@boxyard/spec";
import { type ProxyProblem, problemResponse, problems } from "./answers.ts";
import type { ExchangeEdit } from "./exchange-edit.ts";
import type { Flight, Route, RouteTable } from "./route-table.ts";

/** The protocol that a request asks for when its connection is to become one to a port, byte for byte (docs/contract/routing.md, Other protocols). */
const TCP_UPGRADE = "boxyard-tcp";
/** Such connections to one sandbox at once, and to all sandboxes of one owner: a small part of those that the server takes. */
export const MAX_TCP = 256;
export const MAX_TCP_OF_OWNER = 1024;

const SWITCHED = Buffer.from(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${TCP_UPGRADE}\r\n\r\n`);

/** True for a request for a connection of raw TCP. */
export const isTcp = ({ upgrade }: Pick<RequestHead, "upgrade">): boolean => upgrade?.toLowerCase() === TCP_UPGRADE;

/**
 * The problem of a request for raw TCP, beside those of every request. Bytes to the agent's port could be a request for one of its internal paths, and an
 * open port is open for HTTP alone: who wants to speak another protocol has to show that the team lets them in.
 */
export function tcpProblem(
  request: RequestHead,
  { sandboxId }: Pick<Route, "sandboxId">,
  port: number,
  isLetIn: boolean,
): ProxyProblem | undefined {
  if (!isTcp(request)) return undefined;
  if (port === AGENT_PORT) return problems.noTcpToAgent(sandboxId);
  if (request.method !== "GET" || request.framing.kind !== "none") return problems.tcpWithBody(sandboxId);
  return isLetIn ? undefined : problems.tcpNeedsLink(sandboxId);
}

/** True when the sandbox has as many connections of raw TCP as it may. */
export const isFull = (route: Pick<Route, "flights">): boolean => countTcp(route) >= MAX_TCP;

/** True when all sandboxes of the owner together have as many as they may. */
export function isOwnerFull(routes: Pick<RouteTable, "all">, { owner }: Pick<Route, "owner">): boolean {
  if (owner === undefined) return false;
  let count = 0;
  for (const route of routes.all()) if (route.owner === owner) count += countTcp(route);
  return count >= MAX_TCP_OF_OWNER;
}

function countTcp({ flights }: Pick<Route, "flights">): number {
  let count = 0;
  for (const flight of flights) if (flight instanceof TcpExchange) count += 1;
  return count;
}

/** A client's connection that becomes one to a port of a sandbox: bytes pass both ways, and each side ends on its own. */
export class TcpExchange implements Exchange, UpstreamOwner, Flight {
  private readonly request: RequestHead;
  private readonly client: ClientConnection;
  private readonly route: Route;
  private readonly port: number;
  private readonly pool: UpstreamPool;
  /** The port, if a link of it has let the client in. */
  readonly linkedPort: number | undefined;
  private hasSandboxEnded = false;
  private hasClientEnded = false;
  private isClientGone = false;
  private upstream: Connection | undefined;
  private isConnecting = true;
  private isOpen = false;
  private over = false;
  /** The client's connection is reset once it has taken what is still to be written. */
  private resetsClient = false;
  /** The sandbox sends in large pieces. */
  private isBulk = false;

  constructor(request: RequestHead, client: ClientConnection, route: Route, port: number, pool: UpstreamPool, edit?: ExchangeEdit) {
    this.request = request;
    this.client = client;
    this.route = route;
    this.port = port;
    this.pool = pool;
    this.linkedPort = edit?.isLinked ? port : undefined;
  }

  start(): void {
    this.route.flights.add(this);
    // What the client sends before the answer waits in its socket.
    this.client.pauseBody();
    const { host, inside } = this.route;
    this.upstream = this.pool.connect({ host, port: this.port, inside }, this);
  }

  // The client's side.

  get bodyTarget(): Connection | undefined {
    return this.isOpen && !this.over ? this.upstream : undefined;
  }

  onBody(bytes: Buffer): void {
    if (this.over || !this.upstream) return;
    if (!this.upstream.write(bytes)) this.client.pauseBody();
  }

  onBodyEnd(): void {}

  onClientDrain(): void {
    if (this.resetsClient) this.client.abort();
    if (this.over) return;
    if (this.isBulk) this.passOn();
    if (!this.client.connection.isBehind) this.upstream?.resume();
  }

  onClientEnd(): void {
    this.hasClientEnded = true;
    this.upstream?.halfClose();
  }

  /** A client that has been told all may be gone before the sandbox has taken its last bytes: these still go there. Else what the sandbox sends is for nobody. */
  onClientClosed(): void {
    if (!this.hasSandboxEnded || this.over) {
      this.finish();
      return;
    }
    this.isClientGone = true;
    this.upstream?.end();
    this.upstream?.resume();
  }

  // The sandbox's side.

  onConnected(): void {
    if (this.over) return;
    this.isOpen = true;
    this.client.write(SWITCHED);
    const early = this.client.becomeTunnel();
    if (early.byteLength > 0) this.onBody(early);
  }

  onSettled(): void {
    this.isConnecting = false;
    if (this.over) this.route.flights.delete(this);
  }

  onConnectFailed(): void {
    if (this.over) return;
    this.finish();
    this.answer(problems.portClosed(this.route.sandboxId, this.port));
  }

  onData(bytes: Buffer): void {
    if (this.over || this.isClientGone) return;
    this.isBulk = bytes.byteLength >= BULK_BYTES;
    if (!this.client.write(bytes)) this.upstream?.pause();
    if (this.isBulk) this.passOn();
  }

  onDrain(): void {
    this.client.resumeBody();
  }

  onEnd(): void {
    this.hasSandboxEnded = true;
    if (!this.over) this.client.connection.halfClose();
  }

  onClose(): void {
    if (this.over) return;
    this.finish();
    const { connection } = this.client;
    // Once both sides have ended, Bun tells an end and a reset by the close alone.
    if (this.hasSandboxEnded || this.hasClientEnded) connection.end();
    // A reset, which must not look like an end.
    else if (connection.isBehind) this.resetsClient = true;
    else this.client.abort();
  }

  /** The sandbox has ended, or the link was withdrawn. */
  cut(): void {
    if (this.over) return;
    const wasOpen = this.isOpen;
    this.finish();
    if (wasOpen) {
      this.client.abort();
      return;
    }
    this.answer(problems.sandboxNotFound(this.route.sandboxId));
  }

  /** The answer in place of a connection, with which the client's ends. */
  private answer(problem: ProxyProblem): void {
    this.client.write(problemResponse(this.request, problem, true));
    this.client.endResponse(false);
    // To see that the client has closed it.
    this.client.resumeBody();
  }

  /** Lets the kernel move what it holds of the sandbox's bytes to the client. */
  private passOn(): void {
    if (!this.upstream || this.over) return;
    const to = this.client.connection;
    this.upstream.moveTo(to, Number.POSITIVE_INFINITY);
    if (to.isBehind) this.upstream.pause();
  }

  private finish(): void {
    if (this.over) return;
    this.over = true;
    // A connection attempt cannot be cancelled: it counts until it has ended.
    if (!this.isConnecting) this.route.flights.delete(this);
    const { upstream } = this;
    if (!upstream) return;
    upstream.owner = undefined;
    upstream.destroy();
  }
}
