import {
  BULK_BYTES,
  type ClientConnection,
  type Connection,
  type Exchange,
  forwardedResponse,
  type RequestHead,
  type ResponseHead,
  ResponseReader,
  type UpstreamOwner,
  type UpstreamPool,
} from "@boxyard/http1";
import { AGENT_PORT } from "@boxyard/spec";
import { AnswerBody, forwardedOf } from "./answer-body.ts";
import { type ProxyProblem, problemResponse, problems } from "./answers.ts";
import type { ExchangeEdit } from "./exchange-edit.ts";
import { keepMs, upstreamKey } from "./keep.ts";
import type { Flight, Route } from "./route-table.ts";
import { headForSandbox, mayReuse, upstreamOf } from "./sandbox-request.ts";

const MAX_INTERIM = 32;

/** One request and its answer between a client and a sandbox: heads are parsed and written anew, bodies pass as bytes. */
export class ProxyExchange implements Exchange, UpstreamOwner, Flight {
  private readonly request: RequestHead;
  private readonly client: ClientConnection;
  private readonly route: Route;
  private readonly port: number;
  private readonly pool: UpstreamPool;
  private readonly key: string;
  private readonly edit: ExchangeEdit | undefined;
  private upstream: Connection | undefined;
  private connected = false;
  private isConnecting = false;
  private early: Buffer[] = [];
  private response: ResponseHead | undefined;
  private body: AnswerBody | undefined;
  private interim = 0;
  private requestEnded = false;
  private responseEnded = false;
  private over = false;
  private tunnel = false;
  /** The sandbox sends in large pieces. */
  private isBulk = false;

  /** Without `edit` request and answer pass as they are. */
  constructor(request: RequestHead, client: ClientConnection, route: Route, port: number, pool: UpstreamPool, edit?: ExchangeEdit) {
    this.edit = edit;
    this.request = request;
    this.client = client;
    this.route = route;
    this.port = port;
    this.pool = pool;
    this.key = upstreamKey(route.sandboxId, route.incarnation, port);
  }

  get linkedPort(): number | undefined {
    return this.edit?.isLinked ? this.port : undefined;
  }

  start(): void {
    this.route.flights.add(this);
    const kept = mayReuse(this.request, this.port) ? this.pool.take(this.key) : undefined;
    if (kept) {
      kept.owner = this;
      this.upstream = kept;
      this.onConnected();
      return;
    }
    this.client.pauseBody();
    this.isConnecting = true;
    this.upstream = this.pool.connect(upstreamOf(this.route, this.port), this);
  }

  // The client's side.

  get bodyTarget(): Connection | undefined {
    return this.over || !this.connected ? undefined : this.upstream;
  }

  onBody(bytes: Buffer): void {
    if (this.over) return;
    if (!this.connected) {
      this.early.push(bytes);
      this.client.pauseBody();
      return;
    }
    if (this.upstream && !this.upstream.write(bytes)) this.client.pauseBody();
  }

  onBodyEnd(): void {
    this.requestEnded = true;
    if (this.responseEnded) this.finish();
  }

  onClientDrain(): void {
    if (this.isBulk && !this.over) this.passOn();
    if (!this.client.connection.isBehind) this.upstream?.resume();
  }

  onClientEnd(): void {
    this.upstream?.halfClose();
  }

  onClientClosed(): void {
    this.finish(true);
  }

  // The sandbox's side.

  onConnected(): void {
    if (this.over) return;
    this.connected = true;
    const head = headForSandbox(this.request, this.route, this.port, this.edit);
    const early = this.early;
    this.early = [];
    const free = this.upstream?.write(early.length === 0 ? head : Buffer.concat([head, ...early]));
    if (free) this.client.resumeBody();
  }

  onSettled(): void {
    this.isConnecting = false;
    if (this.over) this.route.flights.delete(this);
  }

  onConnectFailed(error: unknown): void {
    const onUnreached = this.over ? undefined : this.edit?.onUnreached;
    if (onUnreached) this.finish(true);
    else this.fail(problems.portClosed(this.route.sandboxId, this.port));
    onUnreached?.(this.early, error);
  }

  onData(bytes: Buffer): void {
    if (this.over) return;
    this.isBulk = bytes.byteLength >= BULK_BYTES;
    try {
      if (this.tunnel) this.toClient(bytes);
      else if (this.response) this.onResponseBody(bytes);
      else this.onResponseHead(bytes);
      if (this.isBulk) this.passOn();
    } catch {
      // The sandbox does not speak HTTP, or tries to smuggle an answer.
      this.fail(problems.portClosed(this.route.sandboxId, this.port));
    }
  }

  onDrain(): void {
    this.client.resumeBody();
  }

  onEnd(): void {
    if (this.over || this.isConnecting) return;
    if (this.tunnel) {
      this.client.connection.halfClose();
      return;
    }
    if (this.response?.framing.kind === "close" && !this.responseEnded) {
      this.responseEnded = true;
      this.client.endResponse(false);
      this.finish(true);
      return;
    }
    this.brokenOff();
  }

  onClose(): void {
    if (this.over || this.isConnecting) return; // `onConnectFailed` comes.
    if (this.tunnel) {
      this.over = true;
      this.route.flights.delete(this);
      this.client.connection.end();
      return;
    }
    // A reset in the middle of an answer without a length must not look like its end.
    this.brokenOff();
  }

  /** The sandbox has ended. */
  cut(): void {
    this.fail(problems.sandboxNotFound(this.route.sandboxId));
  }

  private onResponseHead(bytes: Buffer): void {
    if (this.port === AGENT_PORT) this.route.agentAnswers += 1;
    const { upstream } = this;
    if (!upstream) return;
    upstream.answers ??= new ResponseReader();
    const response = upstream.answers.read(bytes, this.request.method);
    if (!response) return;
    const { rest } = upstream.answers;
    if (response.status === 101) this.openTunnel(response, rest);
    else if (response.status < 200) this.passInterim(response, rest);
    else this.beginResponse(response, rest);
  }

  private passInterim(response: ResponseHead, rest: Buffer): void {
    this.interim += 1;
    if (this.interim > MAX_INTERIM) throw new Error("too many interim responses");
    if (this.request.minor === 1) this.client.write(forwardedResponse(response, { edit: this.edit?.response }));
    if (rest.byteLength > 0) this.onResponseHead(rest);
  }

  private openTunnel(response: ResponseHead, rest: Buffer): void {
    if (this.request.upgrade === undefined || !this.requestEnded || (this.edit && !this.edit.takesUpgrade))
      throw new Error("upgrade without a request for it");
    this.tunnel = true;
    this.edit?.onAnswer?.(response.status);
    this.client.write(forwardedResponse(response, { edit: this.edit?.response }));
    if (rest.byteLength > 0) this.toClient(rest);
    const early = this.client.becomeTunnel();
    if (early.byteLength > 0) this.onBody(early);
  }

  private beginResponse(response: ResponseHead, rest: Buffer): void {
    this.response = response;
    this.edit?.onAnswer?.(response.status);
    const { keepAlive, minor } = this.request;
    const close = !keepAlive || response.framing.kind === "close";
    const unchunked = minor === 0;
    const body = new AnswerBody(response, unchunked);
    this.body = body;
    const edit = this.edit?.response;
    const head = close || edit ? forwardedResponse(response, { close, unchunked, edit }) : forwardedOf(response);
    const count = body.take(rest);
    if (count === 0) this.toClient(head);
    else if (!this.client.writeBoth(head, body.plain(rest, count))) this.upstream?.pause();
    this.endIfDone(rest.byteLength - count);
  }

  private onResponseBody(bytes: Buffer): void {
    const body = this.body as AnswerBody;
    if (this.responseEnded) throw new Error("bytes after the end of the response");
    const count = body.take(bytes);
    this.toClient(body.plain(bytes, count));
    this.endIfDone(bytes.byteLength - count);
  }

  /** Lets the kernel move what it holds of the answer's body to the client. */
  private passOn(): void {
    const { upstream, body } = this;
    if (!upstream || this.over || !(this.tunnel || body?.mayMove)) return;
    const to = this.client.connection;
    const count = upstream.moveTo(to, this.tunnel ? Number.POSITIVE_INFINITY : (body?.certain ?? 0));
    if (to.isBehind) upstream.pause();
    if (this.tunnel || count === 0) return;
    body?.skip(count);
    this.endIfDone(0);
  }

  private endIfDone(extra: number): void {
    if (!this.body?.isDone || this.responseEnded) return;
    this.responseEnded = true;
    // Bytes after an answer belong to no request: such a connection is not used again.
    const clean = extra === 0;
    if (!clean) this.upstream?.destroy();
    // First release the connection to the sandbox: the client's next request may want it.
    if (this.requestEnded || !clean) this.finish(!clean);
    this.client.endResponse(this.request.keepAlive);
  }

  private toClient(bytes: Uint8Array): void {
    if (!this.client.write(bytes)) this.upstream?.pause();
  }

  /** The connection to the sandbox ended too early. */
  private brokenOff(): void {
    if (this.responseEnded) this.finish(true);
    else this.fail(problems.portClosed(this.route.sandboxId, this.port));
  }

  /** Answers with the problem if no answer has begun; else resets the connection to the client. */
  private fail(problem: ProxyProblem): void {
    if (this.over) return;
    const answered = this.response !== undefined || this.tunnel;
    const alreadyComplete = this.responseEnded;
    this.finish(true);
    if (alreadyComplete) return;
    if (answered) {
      this.client.abort();
      return;
    }
    // The connection ends with this answer unless the request's body is complete: the rest of the body would have to be discarded.
    const keep = this.request.keepAlive && this.requestEnded;
    this.client.write(problemResponse(this.request, this.edit?.problem ?? problem, !keep));
    this.client.endResponse(keep);
  }

  private finish(broken = false): void {
    if (this.over) return;
    this.over = true;
    // A connection attempt cannot be cancelled: it counts until it has ended, so that clients that disconnect at once cannot pile up attempts.
    if (!this.isConnecting) this.route.flights.delete(this);
    const upstream = this.upstream;
    if (!upstream) return;
    upstream.owner = undefined;
    const reusable = !broken && this.response?.keepAlive === true && this.request.minor === 1;
    if (!reusable) upstream.destroy();
    else this.pool.put(this.key, upstream, keepMs(this.port, this.response));
  }
}
