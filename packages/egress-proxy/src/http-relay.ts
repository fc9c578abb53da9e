import {
  type ClientConnection,
  type Connection,
  type ConnectionOwner,
  type Exchange,
  forwardedResponse,
  type RequestHead,
  type ResponseHead,
  ResponseReader,
} from "@boxyard/http1";
import { type Answer, PassedAnswer } from "./answer.ts";
import { flushAndEnd } from "./bridge.ts";
import type { Attempt, HostOwner } from "./connect.ts";
import type { Route } from "./route.ts";
import type { Admitted, Claim, Rules } from "./rules.ts";

const MAX_INTERIM = 32;
/** Methods that do the same when they are sent twice (RFC 9110, 9.2.2), of those that come without a body. */
const REPEATABLE = new Set(["GET", "HEAD", "OPTIONS", "DELETE"]);

/**
 * One request of a sandbox and its answer. The host of each request decides, so a connection that began with an allowed host cannot go on with another one.
 * Heads are parsed and written anew, bodies pass as bytes.
 */
export class HttpRelay implements Exchange, ConnectionOwner, Admitted, HostOwner {
  claim: Claim;
  private readonly route: Route;
  private readonly request: RequestHead;
  private readonly client: ClientConnection;
  private attempt: Attempt;
  private readonly retire: () => void;
  private readonly answers = new ResponseReader();
  private server: Connection | undefined;
  private early: Buffer[] = [];
  private response: ResponseHead | undefined;
  private answer: Answer | undefined;
  private interim = 0;
  private requestEnded = false;
  private tunnel = false;
  private isOver = false;
  /** The server may close the connection before it has read the request, which is then sent again. */
  private isKept = false;

  /** The route's claim is allowed to the sandbox with this address. */
  constructor(rules: Rules, address: string, route: Route, request: RequestHead, client: ClientConnection) {
    this.claim = route.claim;
    this.route = route;
    this.request = request;
    this.client = client;
    client.pauseBody();
    this.retire = rules.admit(address, this);
    this.attempt = this.isOver ? { cancel() {} } : route.reach(this, false);
  }

  // The sandbox's side.

  onBody(bytes: Buffer): void {
    if (this.isOver) return;
    if (!this.tunnel) this.route.tap?.onRequestBody(bytes);
    if (!this.server) {
      this.early.push(bytes);
      this.client.pauseBody();
    } else if (!this.server.write(bytes)) this.client.pauseBody();
    if (!this.tunnel && this.route.tap?.isBehind) {
      this.client.pauseBody();
      this.whenKept(this.resumeClient);
    }
  }

  onBodyEnd(): void {
    this.requestEnded = true;
  }

  onClientDrain(): void {
    this.whenKept(this.resumeServer);
  }

  onClientEnd(): void {
    this.server?.halfClose();
  }

  onClientClosed(): void {
    const { server } = this;
    if (this.tunnel && server) {
      this.server = undefined;
      server.owner = undefined;
      this.finish(false);
      flushAndEnd(server);
    } else this.finish();
  }

  cut(): void {
    this.finish();
    this.client.abort();
  }

  // The server's side.

  onReached(server: Connection, isKept = false): void {
    this.server = server;
    this.isKept = isKept;
    if (this.claim.isOpened) this.claim = { ...this.claim, address: server.peer };
    server.owner = this;
    const free = server.write(Buffer.concat([this.route.head(this.request), ...this.early]));
    this.early = [];
    if (free) this.client.resumeBody();
  }

  onUnreachable(): void {
    if (!this.route.unreachable) {
      this.cut();
      return;
    }
    this.finish();
    this.route.unreachable(this.request, this.client);
  }

  onData(bytes: Buffer): void {
    if (this.isOver) return;
    this.isKept = false;
    try {
      if (this.tunnel) this.toClient(bytes);
      else if (this.response) this.passBody(bytes);
      else this.readHead(bytes);
    } catch {
      // The server does not speak HTTP.
      this.cut();
    }
  }

  onDrain(): void {
    this.whenKept(this.resumeClient);
  }

  onEnd(): void {
    if (this.isOver) return;
    if (this.tunnel) this.client.connection.halfClose();
    else if (this.canRepeat) this.repeat();
    else if (this.response?.framing.kind === "close") this.endWithServer();
    else this.cut();
  }

  onClose(): void {
    if (this.isOver) return;
    if (this.canRepeat) this.repeat();
    else if (this.tunnel) {
      this.finish();
      this.client.connection.end();
    } else this.cut();
  }

  /** Whether the server closed a kept connection before it had anything of this request, which has no body and may be sent twice. */
  private get canRepeat(): boolean {
    return this.isKept && this.request.framing.kind === "none" && REPEATABLE.has(this.request.method);
  }

  private repeat(): void {
    const { server } = this;
    this.server = undefined;
    this.isKept = false;
    if (server) {
      server.owner = undefined;
      server.destroy();
    }
    this.attempt = this.route.reach(this, true);
  }

  private readHead(bytes: Buffer): void {
    const response = this.answers.read(bytes, this.request.method);
    if (!response) return;
    const { rest } = this.answers;
    if (response.status === 101) this.openTunnel(response, rest);
    else if (response.status < 200) this.passInterim(response, rest);
    else this.begin(response, rest);
  }

  private passInterim(response: ResponseHead, rest: Buffer): void {
    this.interim += 1;
    if (this.interim > MAX_INTERIM) throw new Error("too many interim answers");
    if (this.request.minor === 1) this.client.write(this.interimHead(response));
    if (rest.byteLength > 0) this.readHead(rest);
  }

  private openTunnel(response: ResponseHead, rest: Buffer): void {
    if (this.request.upgrade === undefined || !this.requestEnded) throw new Error("an upgrade that nobody asked for");
    this.tunnel = true;
    this.route.tap?.onTunnel();
    this.client.write(this.interimHead(response));
    if (rest.byteLength > 0) this.toClient(rest);
    const early = this.client.becomeTunnel();
    if (early.byteLength > 0) this.onBody(early);
  }

  private interimHead(response: ResponseHead): Uint8Array {
    const head = forwardedResponse(response);
    return this.route.interim?.(head) ?? head;
  }

  private begin(response: ResponseHead, rest: Buffer): void {
    const { route, request } = this;
    this.response = response;
    this.answer = route.answer?.(response, request) ?? new PassedAnswer(response, request);
    this.toClient(this.answer.head);
    if (rest.byteLength > 0) this.passBody(rest);
    else if (this.answer.isDone) {
      this.toClient(this.answer.end());
      this.end(!this.answer.closes, response.keepAlive);
    }
  }

  private passBody(bytes: Buffer): void {
    const answer = this.answer as Answer;
    const { taken, out } = answer.push(bytes);
    this.toClient(out);
    // What follows an answer that nobody asked for could be taken for the next answer.
    if (answer.isDone) this.end(!answer.closes, this.response?.keepAlive === true && taken === bytes.byteLength);
  }

  /** The server has ended an answer of unknown length. */
  private endWithServer(): void {
    this.toClient((this.answer as Answer).end());
    this.end(!this.answer?.closes);
  }

  private toClient(bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return;
    if (!this.client.write(bytes)) this.server?.pause();
    if (this.answer) this.tell(bytes);
  }

  private tell(bytes: Uint8Array): void {
    const { tap } = this.route;
    tap?.onAnswer(bytes);
    if (!tap?.isBehind) return;
    this.server?.pause();
    tap.onDrain(this.resumeServer);
  }

  /** Calls when the tap is not behind, at once if it is not. */
  private whenKept(call: () => void): void {
    const { tap } = this.route;
    if (tap) tap.onDrain(call);
    else call();
  }

  private readonly resumeServer = () => {
    if (!this.client.connection.isBehind) this.server?.resume();
  };

  private readonly resumeClient = () => {
    if (this.server && !this.server.isBehind) this.client.resumeBody();
  };

  /** `keep`: the sandbox's connection goes on; `keepServer`: the server's too. */
  private end(keep: boolean, keepServer = false): void {
    const { server, route, requestEnded } = this;
    route.tap?.onEnd();
    if (server && route.keep && keepServer && requestEnded && !server.isBehind) {
      this.server = undefined;
      server.owner = undefined;
      this.finish(false);
      route.keep(server);
    } else this.finish();
    this.client.endResponse(keep);
  }

  private finish(cancels = true): void {
    if (this.isOver) return;
    this.isOver = true;
    this.route.onOver?.();
    if (cancels) this.attempt?.cancel();
    this.retire?.();
    const { server } = this;
    if (!server) return;
    server.owner = undefined;
    server.destroy();
  }
}
