import { type BodyScanner, ChunkedScanner, scannerFor } from "./body.ts";
import { DISCARD_MS, HEAD_MS, IDLE_MS, MAX_DISCARD_BYTES, STALL_MS, UNTRUSTED_IDLE_MS } from "./client-limits.ts";
import { BULK_BYTES, Connection, type ConnectionOwner } from "./connection.ts";
import type { Exchange, Takeover } from "./exchange.ts";
import type { FieldNames } from "./fields.ts";
import { HeadError, type RequestHead } from "./head.ts";
import { RequestReader } from "./request-reader.ts";

/** What a server does with the requests of its clients. `now` is in monotonic ms. */
export interface ClientHost {
  /** Names and rules for the fields of heads. */
  readonly names: FieldNames;
  /** Starts the answer to a request; must not throw. */
  exchange(request: RequestHead, client: ClientConnection): Exchange;
  /** Answers a request that is malformed. The connection ends after it. */
  malformed(error: HeadError, client: ClientConnection): void;
  onClosed(client: ClientConnection): void;
  now(): number;
}

const EMPTY = Buffer.alloc(0);

/** A client's connection. Reads its requests one at a time; later ones wait in the socket. */
export class ClientConnection implements ConnectionOwner {
  readonly connection = new Connection();
  /** Monotonic ms at which the wait for a request began. */
  idleSince: number;
  /** Has the connection's bytes in the place of this object. */
  takenBy: Takeover | undefined;
  private readonly host: ClientHost;
  private pending: Buffer = EMPTY;
  private exchange: Exchange | undefined;
  private scanner: BodyScanner | undefined;
  private bodyEnded = true;
  private responseEnded = true;
  private closeAfter = false;
  private tunnel = false;
  private discarded = 0;
  private reading = false;
  private isBulk = false;
  private trusted = false;
  private readonly reader: RequestReader;

  constructor(host: ClientHost) {
    this.host = host;
    this.reader = new RequestReader(host.names);
    this.connection.owner = this;
    this.idleSince = host.now();
    this.connection.deadline = this.idleSince + HEAD_MS;
  }

  /** Monotonic ms. */
  get now(): number {
    return this.host.now();
  }

  get closed(): boolean {
    return this.connection.closed;
  }

  /** True while a request is being answered. */
  get busy(): boolean {
    return this.exchange !== undefined;
  }

  /** True while no answer is under way: there is no complete head, or the rest of an answered request is dropped. False for a tunnel. */
  get isIdle(): boolean {
    return this.takenBy ? this.takenBy.isIdle : (this.exchange === undefined || this.responseEnded) && !this.tunnel;
  }

  /** True once `trust` was called. */
  get isTrusted(): boolean {
    return this.trusted;
  }

  /** Marks the client as authorised: its connection may wait longer for a request, and is not closed first to make room. */
  trust(): void {
    this.trusted = true;
  }

  /** Ends the connection after the current answer, or now if there is none. */
  drain(): void {
    this.closeAfter = true;
    if (this.takenBy) this.takenBy.drain();
    else if (!this.exchange) this.connection.end();
  }

  write(data: Uint8Array): boolean {
    return this.connection.write(data);
  }

  writeBoth(first: Uint8Array, second: Uint8Array): boolean {
    return this.connection.writeBoth(first, second);
  }

  pauseBody(): void {
    this.connection.pause();
  }

  resumeBody(): void {
    if (this.connection.isPaused && this.isBulk) {
      if (!this.passBody()) return;
      if (!this.tunnel) this.endBody();
    }
    this.connection.resume();
  }

  /** The answer is complete. `keep` false: the connection ends with it. */
  endResponse(keep: boolean): void {
    this.responseEnded = true;
    if (!keep) this.closeAfter = true;
    if (this.bodyEnded) this.next();
    else {
      this.connection.deadline = this.host.now() + DISCARD_MS;
      if (this.closeAfter) {
        this.connection.halfClose();
        // The connection ends in any case, so the end of a chunked body need not be found.
        if (this.scanner instanceof ChunkedScanner) this.scanner = scannerFor({ kind: "close" });
      }
      this.connection.resume();
    }
  }

  /** Resets the connection, so that the client never takes a truncated answer for a complete one. */
  abort(): void {
    this.connection.destroy();
  }

  /** Makes the connection a tunnel: later bytes are forwarded unchanged. Returns the bytes that the client has already sent. */
  becomeTunnel(): Buffer {
    this.tunnel = true;
    const early = this.pending;
    this.pending = EMPTY;
    this.connection.resume();
    return early;
  }

  onData(bytes: Buffer): void {
    this.isBulk = bytes.byteLength >= BULK_BYTES;
    if (this.tunnel) {
      this.exchange?.onBody(bytes);
      if (this.isBulk) this.passBody();
      return;
    }
    this.pending = this.pending.byteLength === 0 ? bytes : Buffer.concat([this.pending, bytes]);
    this.read();
  }

  onEnd(): void {
    if (this.tunnel && this.exchange?.onClientEnd) {
      this.exchange.onClientEnd();
      return;
    }
    // A client that closes before the answer has cancelled the request.
    if (this.exchange) this.connection.destroy();
    else this.connection.end();
  }

  onDrain(): void {
    if (this.exchange) {
      this.exchange.onClientDrain();
      return;
    }
    if (this.tunnel) return;
    this.connection.resume();
    this.read();
  }

  onClose(): void {
    const exchange = this.exchange;
    this.exchange = undefined;
    exchange?.onClientClosed();
    this.host.onClosed(this);
  }

  private read(): void {
    // An answer may end within this loop and call `read` again; the loop goes on by itself.
    if (this.reading) return;
    this.reading = true;
    try {
      while (this.pending.byteLength > 0 && !this.closed && !this.tunnel) {
        if (!this.bodyEnded) this.readBody();
        else if (!this.exchange && !this.connection.isBehind) {
          if (!this.readHead()) break;
        } else {
          // A pipelined request waits until the client has taken the current answer: else the answers to one that never reads would fill memory.
          this.connection.pause();
          break;
        }
      }
    } catch (error) {
      this.fail(error);
    } finally {
      this.reading = false;
    }
  }

  private readHead(): boolean {
    const { reader } = this;
    const isFirst = !reader.hasBegun;
    const request = reader.read(this.pending);
    this.pending = request ? reader.rest : EMPTY;
    if (!request) {
      if (isFirst) this.connection.deadline = this.host.now() + HEAD_MS;
      return false;
    }
    this.begin(request);
    return true;
  }

  private begin(request: RequestHead): void {
    this.connection.deadline = Number.POSITIVE_INFINITY;
    this.scanner = scannerFor(request.framing);
    this.bodyEnded = this.scanner.done;
    this.responseEnded = false;
    this.discarded = 0;
    if (!request.keepAlive) this.closeAfter = true;
    const exchange = this.host.exchange(request, this);
    // An exchange may have answered at once.
    if (this.responseEnded && this.bodyEnded) return;
    if (!this.closed) this.exchange = exchange;
    this.awaitBody();
    if (this.bodyEnded) exchange.onBodyEnd();
  }

  private readBody(): void {
    const scanner = this.scanner as BodyScanner;
    const count = scanner.take(this.pending, 0);
    const body = count === this.pending.byteLength ? this.pending : this.pending.subarray(0, count);
    this.pending = count === this.pending.byteLength ? EMPTY : this.pending.subarray(count);
    if (this.responseEnded) {
      this.discarded += count;
      if (this.discarded > MAX_DISCARD_BYTES) this.connection.destroy();
    }
    if (count > 0) this.exchange?.onBody(body);
    this.awaitBody();
    if (this.isBulk && this.pending.byteLength === 0) this.passBody();
    this.endBody();
  }

  /** Sets the deadline for the next bytes of the body. After the answer `endResponse` sets another. */
  private awaitBody(): void {
    const idleMs = this.exchange?.bodyIdleMs;
    if (idleMs !== undefined && !this.bodyEnded && !this.responseEnded) this.connection.deadline = this.host.now() + idleMs;
  }

  private endBody(): void {
    if (!this.scanner?.done || this.bodyEnded) return;
    this.bodyEnded = true;
    if (!this.responseEnded) this.connection.deadline = Number.POSITIVE_INFINITY;
    this.exchange?.onBodyEnd();
    if (this.responseEnded) this.next();
  }

  /** Lets the kernel forward the bytes of the body that it holds. False when the target takes no more for now. */
  private passBody(): boolean {
    const target = this.exchange?.bodyTarget;
    if (!target || this.closed || (this.bodyEnded && !this.tunnel)) return true;
    const count = this.connection.moveTo(target, this.tunnel ? Number.POSITIVE_INFINITY : (this.scanner?.certain ?? 0));
    if (!this.tunnel && count > 0) this.scanner?.skip(count);
    if (!target.isBehind) return true;
    this.connection.pause();
    return false;
  }

  private next(): void {
    this.exchange = undefined;
    const now = this.host.now();
    this.idleSince = now;
    if (this.closeAfter) {
      this.connection.deadline = now + STALL_MS;
      this.connection.end();
      return;
    }
    this.connection.deadline = now + (this.trusted ? IDLE_MS : UNTRUSTED_IDLE_MS);
    this.connection.resume();
    this.read();
  }

  private fail(error: unknown): void {
    const head = error instanceof HeadError ? error : new HeadError(500, "internal error");
    const exchange = this.exchange;
    this.exchange = undefined;
    this.closeAfter = true;
    this.pending = EMPTY;
    this.bodyEnded = true;
    if (exchange) {
      // In the middle of a body an answer may be under way, so the connection is reset.
      exchange.onClientClosed();
      this.connection.destroy();
      return;
    }
    this.host.malformed(head, this);
    this.connection.deadline = this.host.now() + STALL_MS;
    this.connection.end();
  }
}
