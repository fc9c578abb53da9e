import { type BodyScanner, ChunkedScanner, scannerFor } from "./body.ts";
import { BULK_BYTES, Connection, type ConnectionOwner } from "./connection.ts";
import type { Exchange } from "./exchange.ts";
import type { FieldNames } from "./fields.ts";
import { HeadError, type RequestHead } from "./head.ts";
import { RequestReader } from "./request-reader.ts";

export interface ClientHost {
  /** By which heads are read. */
  readonly names: FieldNames;
  /** Begins to answer; must not throw. */
  exchange(request: RequestHead, client: ClientConnection): Exchange;
  /** Answers a request that could not be understood. */
  malformed(error: HeadError, client: ClientConnection): void;
  onClosed(client: ClientConnection): void;
  now(): number;
}

/** Waiting for the next request of a kept connection; longer than clients keep one. */
const IDLE_MS = 620_000;
/** The same, before `trust`. */
const UNTRUSTED_IDLE_MS = 15_000;
/** The client takes nothing of an answer that is complete. */
const STALL_MS = 120_000;
/** From the first byte of a head to its last. */
const HEAD_MS = 15_000;
/** What is read and thrown away of a request that was answered before its body ended. */
const MAX_DISCARD_BYTES = 64 << 20;
const DISCARD_MS = 30_000;

const EMPTY = Buffer.alloc(0);

/** A client's connection: cuts it into requests, one at a time; later ones wait in the socket. */
export class ClientConnection implements ConnectionOwner {
  readonly connection = new Connection();
  /** Monotonic ms at which it began to wait for a request. */
  idleSince: number;
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

  get closed(): boolean {
    return this.connection.closed;
  }

  /** True while a request is being answered. */
  get busy(): boolean {
    return this.exchange !== undefined;
  }

  /** True while nothing is being answered: no request is there, or its head is not complete, or what follows its answer is thrown away. */
  get isIdle(): boolean {
    return (this.exchange === undefined || this.responseEnded) && !this.tunnel;
  }

  /** True once `trust` was called. */
  get isTrusted(): boolean {
    return this.trusted;
  }

  /** The client has shown that it may use this server: its connection may wait long for a request. */
  trust(): void {
    this.trusted = true;
  }

  /** Makes the connection end after the current answer, or now if there is none. */
  drain(): void {
    this.closeAfter = true;
    if (!this.exchange) this.connection.end();
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
        // The connection ends whatever follows, so that nobody needs to find the body's end among a million chunks.
        if (this.scanner instanceof ChunkedScanner) this.scanner = scannerFor({ kind: "close" });
      }
      this.connection.resume();
    }
  }

  /** Breaks the answer off: the client sees a reset, never a truncated answer that looks whole. */
  abort(): void {
    this.connection.destroy();
  }

  /** From now on bytes go both ways untouched; returns what the client has sent already. */
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
    // A client that closes while it waits has given up: what works for it must hear of that at once, or it goes on for nobody.
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
    // Answers may end while their request is being read; the loop below goes on then, a nested one must not.
    if (this.reading) return;
    this.reading = true;
    try {
      while (this.pending.byteLength > 0 && !this.closed && !this.tunnel) {
        if (!this.bodyEnded) this.readBody();
        else if (!this.exchange && !this.connection.isBehind) {
          if (!this.readHead()) break;
        } else {
          // The next request came early: leave it, and whatever follows, until this one is answered, and the client has taken the answer; the
          // answers to a client that asks and never reads would pile up.
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

  /** Until an answer is there: what comes after it has a time of its own. */
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

  /** Lets the kernel carry on what it holds of the body. False: its target takes no more for now. */
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
      // In the middle of a body: there is no saying what the answer so far was.
      exchange.onClientClosed();
      this.connection.destroy();
      return;
    }
    this.host.malformed(head, this);
    this.connection.deadline = this.host.now() + STALL_MS;
    this.connection.end();
  }
}
