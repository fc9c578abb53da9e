import type { Clock } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { hasErrno } from "../../sys/libc.ts";
import { FrameReader, frame } from "./exchange.ts";
import { FairShare } from "./fair-share.ts";
import type { Resolver } from "./resolver.ts";
import { standInAnswer } from "./stand-in.ts";
import { MAX_QUERY_BYTES, makeError, nameOf, parseQuery, type Query, RCODE } from "./wire.ts";

/** Bounds of what sandboxes can make the server hold, shared out by `FairShare`. Each question in flight costs one socket and about 10 KiB. */
export const DNS_LIMITS = {
  inFlight: 1024,
  inFlightPerLease: 64,
  connections: 256,
  connectionsPerLease: 8,
  /** A TCP connection without a whole question for so long is closed; milliseconds. */
  idleMs: 10_000,
  /** Answers that a TCP client has not read yet. */
  unsentBytes: 256 * 1024,
} as const;

/** A sandbox, as the forwarder sees it. A new object for every lease, so that a late answer never reaches the next holder of an address. */
export interface DnsClient {
  readonly address: string;
  /** Whether a question for this name may be asked; else it is refused at once, on open connections too. Changes with the sandbox's rules. */
  resolves: (name: string) => boolean;
  /** Whether a name is answered by an address that stands for any server, and nobody is asked for it. */
  standsIn?: ((name: string) => boolean) | undefined;
}

export interface ForwarderOptions {
  /** The address to listen on, UDP and TCP. */
  readonly address: string;
  readonly port?: number;
  /** Runs `work` (synchronously) in the router's network namespace, where the sockets must be made. */
  readonly inNamespace: <T>(work: () => T) => T;
  /** The sandbox with this address; undefined when there is none: such a question gets no answer. */
  readonly clientOf: (address: string) => DnsClient | undefined;
  readonly resolver: Resolver;
  /** Gets each question with its answer; undefined: the client may not ask it. */
  readonly onQuestion?: (client: DnsClient, name: string, answer: Uint8Array | undefined) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Connection {
  client: DnsClient;
  leave: () => void;
  reader: FrameReader;
  unsent: Uint8Array;
  idle: ReturnType<typeof setTimeout>;
}

type UdpServer = { send(data: Uint8Array, port: number, address: string): boolean; close(): void; readonly closed: boolean };
type TcpServer = { stop(force?: boolean): void };
type TcpSocket = { data: Connection | undefined; remoteAddress: string; write(data: Uint8Array): number; terminate(): void };

/** The name server of the sandboxes: receives questions on the gateway's address and forwards them to the machine's own name servers. */
export class Forwarder {
  private readonly options: ForwarderOptions;
  private udp: UdpServer | undefined;
  private tcp: TcpServer | undefined;
  private readonly questions = new FairShare<DnsClient>(DNS_LIMITS.inFlight, DNS_LIMITS.inFlightPerLease);
  private readonly connections = new FairShare<DnsClient>(DNS_LIMITS.connections, DNS_LIMITS.connectionsPerLease);
  private readonly closing = new AbortController();

  constructor(options: ForwarderOptions) {
    this.options = options;
  }

  /** Starts listening. Retries on `EADDRINUSE` for up to a second: an earlier server may still be ending. */
  async open(): Promise<void> {
    const giveUpAt = this.options.clock.monotonic() + 1000;
    for (;;) {
      try {
        if (!this.udp || this.udp.closed) this.udp = await this.listenUdp();
        this.tcp ??= this.listenTcp();
        return;
      } catch (error) {
        if (!hasErrno(error, "EADDRINUSE") || this.options.clock.monotonic() > giveUpAt) throw error;
        await this.options.clock.sleep(50);
      }
    }
  }

  /** Opens the UDP socket again if the kernel closed it. Cheap when it is open; never throws. */
  async mend(): Promise<void> {
    if (this.closing.signal.aborted || !this.udp?.closed) return;
    this.options.logger.warn("the name server's socket was closed; opening it again");
    await this.open().catch((error) => this.options.logger.error({ err: error }, "the name server can't listen"));
  }

  close(): void {
    this.closing.abort();
    this.udp?.close();
    this.tcp?.stop(true);
    this.udp = undefined;
    this.tcp = undefined;
  }

  /** Questions being answered and TCP connections open, for tests and metrics. */
  get load(): { inFlight: number; connections: number } {
    return { inFlight: this.questions.taken, connections: this.connections.taken };
  }

  private listenUdp(): Promise<UdpServer> {
    const { address, port, inNamespace, logger } = this.options;
    return inNamespace(() =>
      Bun.udpSocket({
        hostname: address,
        port: port ?? 53,
        socket: {
          data: (_socket, data, fromPort, from) => this.onDatagram(new Uint8Array(data), fromPort, from),
          error: () => logger.debug("a name server's answer could not be delivered"),
        },
      }),
    );
  }

  private onDatagram(data: Uint8Array, port: number, from: string): void {
    const client = this.options.clientOf(from);
    if (!client) return;
    void this.answer(client, data, true).then((reply) => {
      // The lease may have ended meanwhile, and its address may belong to another sandbox by now.
      if (reply && this.options.clientOf(from) === client) this.sendUdp(reply, port, from);
    });
  }

  private sendUdp(reply: Uint8Array, port: number, to: string): void {
    try {
      this.udp?.send(reply, port, to);
    } catch {
      // The client's link is gone, or its buffers are full: the answer is lost, which UDP allows.
    }
  }

  /** The reply for a message, or undefined for none. Never throws. */
  private async answer(client: DnsClient, data: Uint8Array, overUdp: boolean): Promise<Uint8Array | undefined> {
    const parsed = parseQuery(data);
    if (!parsed) return undefined;
    if ("refusal" in parsed) return parsed.refusal;
    const name = nameOf(parsed.query);
    if (client.standsIn?.(name)) return standInAnswer(parsed.query);
    if (!client.resolves(name)) {
      this.options.onQuestion?.(client, name, undefined);
      return makeError(parsed.query, RCODE.REFUSED);
    }
    const gaveUp = new AbortController();
    const leave = this.questions.enter(client, () => gaveUp.abort());
    if (!leave) return makeError(parsed.query, RCODE.SERVFAIL);
    try {
      const answer = await this.resolveSafely(parsed.query, overUdp, AbortSignal.any([this.closing.signal, gaveUp.signal]));
      this.options.onQuestion?.(client, name, answer);
      return answer;
    } finally {
      leave();
    }
  }

  private async resolveSafely(query: Query, overUdp: boolean, signal: AbortSignal): Promise<Uint8Array> {
    try {
      return await this.options.resolver.resolve(query, overUdp, signal);
    } catch (error) {
      this.options.logger.warn({ err: error }, "a name could not be resolved");
      return makeError(query, RCODE.SERVFAIL);
    }
  }

  private listenTcp(): TcpServer {
    const { address, port, inNamespace } = this.options;
    return inNamespace(() =>
      Bun.listen<Connection | undefined>({
        hostname: address,
        port: port ?? 53,
        socket: {
          open: (socket) => this.onOpen(socket),
          data: (socket, data) => this.onData(socket, data),
          drain: (socket) => this.flush(socket),
          close: (socket) => this.onClose(socket),
          error: (socket) => void socket.terminate(),
        },
      }),
    );
  }

  private onOpen(socket: TcpSocket): void {
    socket.data = undefined;
    const client = this.options.clientOf(socket.remoteAddress);
    const leave = client && this.connections.enter(client, () => socket.terminate());
    if (!leave) {
      socket.terminate();
      return;
    }
    const idle = setTimeout(() => socket.terminate(), DNS_LIMITS.idleMs);
    socket.data = { client, leave, reader: new FrameReader(MAX_QUERY_BYTES), unsent: new Uint8Array(0), idle };
  }

  private onData(socket: TcpSocket, data: Uint8Array): void {
    const connection = socket.data;
    if (!connection) return;
    const messages = connection.reader.push(data);
    // Only whole messages keep a connection open: one byte at a time would hold it for ever.
    if (messages.length > 0) connection.idle.refresh();
    for (const message of messages) {
      void this.answer(connection.client, message, false).then((reply) => {
        if (reply && socket.data === connection) this.sendTcp(socket, connection, frame(reply));
      });
    }
    if (connection.reader.overflowed) socket.terminate();
  }

  private sendTcp(socket: TcpSocket, connection: Connection, bytes: Uint8Array): void {
    if (connection.unsent.length + bytes.length > DNS_LIMITS.unsentBytes) {
      socket.terminate();
      return;
    }
    connection.unsent = Buffer.concat([connection.unsent, bytes]);
    this.flush(socket);
  }

  private flush(socket: TcpSocket): void {
    const connection = socket.data;
    if (!connection || connection.unsent.length === 0) return;
    const written = socket.write(connection.unsent);
    if (written < 0) socket.terminate();
    else connection.unsent = connection.unsent.slice(written);
  }

  private onClose(socket: TcpSocket): void {
    const connection = socket.data;
    if (!connection) return;
    socket.data = undefined;
    clearTimeout(connection.idle);
    connection.leave();
  }
}
