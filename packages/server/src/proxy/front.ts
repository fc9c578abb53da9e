import type { AppError, Clock } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import {
  ClientConnection,
  type ClientHost,
  ClientTable,
  type Connection,
  type Exchange,
  type FieldNames,
  type HeadError,
  type RequestHead,
  UpstreamPool,
} from "@boxyard/http1";
import { AGENT_PORT } from "@boxyard/spec";
import {
  jsonResponse,
  type ProxyProblem,
  plainResponse,
  preflightResponse,
  problemResponse,
  problems,
  redirectResponse,
} from "./answers.ts";
import type { ApiHandler } from "./api-call.ts";
import { ApiExchange, type ApiExchangeOptions } from "./api-exchange.ts";
import { CLIENT_FIELDS, dispatch, type SandboxTarget } from "./dispatch.ts";
import { type MethodProblem, methodProblem } from "./methods.ts";
import { ON_OUR_ORIGIN } from "./our-origin.ts";
import { editOf, type Passage } from "./passage.ts";
import { addressBefore, NOT_PASSED_ON, type PassedOn } from "./passed-on.ts";
import { readLink } from "./port-link.ts";
import { type OpenPorts, openPorts, type Ports } from "./ports.ts";
import { ProxyExchange } from "./proxy-exchange.ts";
import { refusal, refusalMeanwhile, refusalToWake } from "./refusal.ts";
import { RefusedClients } from "./refused-clients.ts";
import type { Route, RouteTable } from "./route-table.ts";
import { findSigned } from "./signature.ts";
import { isOwnerFull, isTcp, MAX_TCP_OF_OWNER, TcpExchange } from "./tcp-exchange.ts";
import type { TlsListen } from "./tls-listener.ts";
import { UploadExchange, type UploadTarget } from "./upload-exchange.ts";
import { WakeQueue } from "./wake-queue.ts";
import { WakingExchange } from "./waking-exchange.ts";

/** Connections of clients at once; each may need a second descriptor, for its connection to a sandbox. */
const MAX_CLIENTS = 8000;
const SWEEP_MS = 1000;
/** Every so many sweeps look for lost peers. */
const SWEEPS_PER_LOOK = 5;
const PEER_LIMIT_MS = 60_000;

export interface FrontOptions extends Pick<ApiExchangeOptions, "clientAddress"> {
  readonly hostname: string;
  /** 0: any free port. */
  readonly port: number;
  /** Listens for TLS too. */
  readonly tls?: TlsListen | undefined;
  /** Where connections come from; by default the front opens its own ports. */
  readonly ports?: OpenPorts;
  /** Requests that the front answers itself, in JSON. */
  readonly own?: { is(request: RequestHead): boolean; answer(): unknown };
  /** Set for one of several servers, to which the others pass requests on. */
  readonly passedOn?: PassedOn;
  readonly routes: RouteTable;
  /** Connections to sandboxes, which the server's own requests use too; those of the front alone by default. */
  readonly upstreams?: UpstreamPool;
  readonly api: ApiHandler;
  /** Takes uploads; without it uploads are requests to the API. */
  readonly uploads?: UploadTarget;
  /** Connections of clients at once; 8,000 by default. */
  readonly maxClients?: number;
  /** Clients and sandboxes whose kernel acknowledges nothing for so long count as lost; 60 s by default. */
  readonly peerLimitMs?: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface FrontCounts {
  readonly clients: number;
  readonly api: number;
  readonly proxied: number;
  /** Answered by the front itself: errors, preflights. */
  readonly refused: number;
}

export const NO_COUNTS: FrontCounts = { clients: 0, api: 0, proxied: 0, refused: 0 };

/** An exchange that has been answered, and ignores what still comes. */
const ANSWERED: Exchange = { onBody() {}, onBodyEnd() {}, onClientDrain() {}, onClientClosed() {} };

/** The one port: passes each request to the API or to a sandbox (docs/decisions.md, Dispatch and Proxy). */
export class Front implements ClientHost {
  readonly names: FieldNames = CLIENT_FIELDS;
  private readonly options: FrontOptions;
  /** For requests that another server has passed on. */
  private readonly ofServer: ApiExchangeOptions;
  protected readonly pool: UpstreamPool;
  private readonly clients: ClientTable;
  private readonly refusedClients: RefusedClients;
  private readonly wakeQueue = new WakeQueue();
  private readonly ports: Ports;
  private readonly sweeper: Timer;
  private readonly peerLimitMs: number;
  private sweeps = 0;
  private readonly counted = { api: 0, proxied: 0, refused: 0 };
  private emptied: (() => void) | undefined;

  constructor(options: FrontOptions) {
    this.options = options;
    this.ofServer = { ...options, clientAddress: addressBefore(options.clientAddress), isPassedOn: true };
    this.clients = new ClientTable(options.maxClients ?? MAX_CLIENTS);
    this.refusedClients = new RefusedClients(options.clock);
    this.peerLimitMs = options.peerLimitMs ?? PEER_LIMIT_MS;
    this.pool = options.upstreams ?? new UpstreamPool(() => options.clock.monotonic(), this.peerLimitMs);
    this.ports = (options.ports ?? openPorts(options))((socket, tls) => this.accept(socket, tls));
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS);
  }

  get port(): number {
    return this.ports.port;
  }

  get tlsPort(): number | undefined {
    return this.ports.tlsPort;
  }

  /** Open connections of clients, and how many requests went where since the start. */
  get counts(): FrontCounts {
    return { ...this.counted, clients: this.clients.size };
  }

  now(): number {
    return this.options.clock.monotonic();
  }

  /** Closes the kept connections to an incarnation that has ended. */
  forget(route: Pick<Route, "sandboxId" | "incarnation">): void {
    this.pool.sweep(`${route.sandboxId}:${route.incarnation}:`);
  }

  /** Takes no new connections, waits up to `graceMs` for the end of answers that have begun, then resets the remaining connections. */
  async close(graceMs: number): Promise<void> {
    this.ports.stop(false);
    for (const client of [...this.clients]) client.drain();
    if (this.clients.size > 0) {
      await Promise.race([
        new Promise<void>((resolve) => {
          this.emptied = resolve;
        }),
        Bun.sleep(graceMs),
      ]);
    }
    for (const client of [...this.clients]) client.abort();
    clearInterval(this.sweeper);
    this.pool.sweep("");
    this.ports.stop(true);
  }

  exchange(request: RequestHead, client: ClientConnection): Exchange {
    const { own, passedOn } = this.options;
    const passes = passedOn ? passedOn.passesOf(request) : 0;
    if (passes === undefined) return this.refuse(request, client, NOT_PASSED_ON);
    if (own?.is(request)) return this.answerJson(request, client, own.answer());
    const target = dispatch(request);
    const head = request.method === "HEAD";
    const wrong = target.kind === "sandbox" && target.port !== AGENT_PORT ? undefined : methodProblem(request.method);
    if (wrong) return this.refuseMethod(request, client, wrong);
    switch (target.kind) {
      case "api": {
        const { uploads } = this.options;
        if (uploads && request.method === "PUT" && request.target.startsWith(uploads.prefix)) {
          const upload = new UploadExchange(request, client, uploads);
          upload.start();
          return upload;
        }
        this.counted.api++;
        const exchange = new ApiExchange(request, client, passes > 0 ? this.ofServer : this.options);
        exchange.start();
        return exchange;
      }
      case "sandbox":
        return this.toSandboxOrWake(request, client, target, client.connection.tls && passes === 0);
      case "signed-file": {
        const route = findSigned(this.options.routes, request.method, request.target);
        if (!route) return this.refuse(request, client, problems.badSignature());
        return this.toSandbox(request, client, route, { ...route, port: AGENT_PORT, link: undefined, edit: ON_OUR_ORIGIN });
      }
      case "redirect":
        return this.answer(request, client, (close) => redirectResponse(target.location, close));
      case "preflight":
        return this.answer(request, client, (close) => preflightResponse(request, close));
      case "bad":
        return this.answer(request, client, (close) => plainResponse(400, target.text, close, head));
    }
  }

  malformed(error: HeadError, client: ClientConnection): void {
    client.write(jsonResponse(error.status, { code: error.status, message: `Malformed request: ${error.message}` }, true));
  }

  onClosed(client: ClientConnection): void {
    this.clients.remove(client);
    if (this.clients.size === 0) this.emptied?.();
  }

  private accept(socket: Bun.Socket<Connection>, tls: boolean): void {
    const client = new ClientConnection(this);
    client.connection.tls = tls;
    socket.data = client.connection;
    client.connection.attach(socket);
    socket.setNoDelay(true);
    client.connection.keepAlive(this.peerLimitMs);
    if (this.clients.add(client, socket.remoteAddress)) return;
    this.options.logger.warn({ connections: this.clients.size }, "too many connections; one was refused");
    this.refusedClients.add(client, socket);
  }

  private toSandboxOrWake(asked: RequestHead, client: ClientConnection, target: SandboxTarget, isTls: boolean): Exchange {
    const { routes } = this.options;
    const { sandboxId, port, innerTarget } = target;
    const inner = innerTarget === undefined ? asked : { ...asked, target: innerTarget, derived: {} };
    const route = routes.find(sandboxId);
    const sleeper = route && !route.ending ? undefined : routes.findSleeper(sandboxId);
    const link = readLink(inner, route ?? sleeper ?? routes.findChanging(sandboxId), port, {
      isByHost: target.isByHost === true,
      isTls,
    });
    const { request, redirect } = link;
    if (redirect) return this.answer(asked, client, redirect);
    const passage = { ...target, link: link.link, edit: editOf(request, target, link) };
    if (!sleeper) return this.toSandbox(request, client, route, passage);
    const problem = refusalToWake(request, sleeper, port, link.link, this.wakeQueue.count(sandboxId));
    if (problem) return this.refuse(request, client, problem);
    client.trust();
    const exchange = new WakingExchange(client);
    const goOn = (noRoom: AppError | undefined) =>
      noRoom
        ? this.refuse(request, client, problems.noRoom(sandboxId, noRoom))
        : this.toSandbox(request, client, routes.find(sandboxId), passage);
    exchange.start(this.wakeQueue, sleeper, goOn);
    return exchange;
  }

  private toSandbox(request: RequestHead, client: ClientConnection, route: Route | undefined, passage: Passage): Exchange {
    const { sandboxId, port, link, edit } = passage;
    if (!route) {
      const { routes } = this.options;
      const changing = routes.findChanging(sandboxId);
      const gone = () => (routes.isReplaced(sandboxId) ? problems.sandboxReplaced(sandboxId) : problems.sandboxNotFound(sandboxId));
      return this.refuse(request, client, changing ? refusalMeanwhile(request, changing, port, link) : gone());
    }
    const problem = refusal(request, route, port, link) ?? this.refusalOfOwner(request, route);
    if (problem) return this.refuse(request, client, problem);
    client.trust();
    this.counted.proxied++;
    const Kind = isTcp(request) ? TcpExchange : ProxyExchange;
    const exchange = new Kind(request, client, route, port, this.pool, edit);
    exchange.start();
    return exchange;
  }

  private refusalOfOwner(request: RequestHead, route: Route): ProxyProblem | undefined {
    if (!isTcp(request) || !isOwnerFull(this.options.routes, route)) return undefined;
    return problems.tooManyTcpOfTeam(route.sandboxId, MAX_TCP_OF_OWNER);
  }

  protected refuse(request: RequestHead, client: ClientConnection, problem: ProxyProblem): Exchange {
    return this.answer(request, client, (close) => problemResponse(request, problem, close));
  }

  protected answerJson(request: RequestHead, client: ClientConnection, body: unknown): Exchange {
    return this.answer(request, client, (close) => jsonResponse(200, body, close));
  }

  private refuseMethod(request: RequestHead, client: ClientConnection, { status, message }: MethodProblem): Exchange {
    const { method, target } = request;
    this.options.logger.info({ method: method.slice(0, 50), path: target.split("?", 1)[0]?.slice(0, 200), status }, "request");
    return this.answer(request, client, (close) => jsonResponse(status, { code: status, message }, close));
  }

  private answer(request: RequestHead, client: ClientConnection, make: (close: boolean) => Uint8Array): Exchange {
    const keep = request.keepAlive && !isTcp(request);
    this.counted.refused++;
    client.write(make(!keep));
    client.endResponse(keep);
    return ANSWERED;
  }

  private sweep(): void {
    const now = this.now();
    const isLook = this.sweeps++ % SWEEPS_PER_LOOK === 0;
    for (const client of [...this.clients]) {
      if (client.connection.deadline <= now || (isLook && client.connection.isPeerLost(this.peerLimitMs))) client.abort();
    }
    this.pool.sweep();
    if (!isLook) return;
    this.pool.dropLost();
    this.ports.look();
  }
}
