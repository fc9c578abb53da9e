import { AppError } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { Connection } from "@boxyard/http1";
import { type TlsListen, TlsListener } from "./tls-listener.ts";

/** Where a front listens. */
export interface PortsOptions {
  readonly hostname: string;
  /** 0: any free port. */
  readonly port: number;
  /** Listens for TLS too. */
  readonly tls?: TlsListen | undefined;
  readonly logger: Logger;
}

/** Open ports, whose connections a front takes. */
export interface Ports {
  readonly port: number;
  readonly tlsPort: number | undefined;
  /** Takes another certificate, if its files have changed. */
  look(): void;
  /** No new connections come any more; `force`: those that are open are reset. */
  stop(force: boolean): void;
}

type Accept = (socket: Bun.Socket<Connection>, tls: boolean) => void;

/** Opens ports, each of whose connections `accept` takes. */
export type OpenPorts = (accept: Accept) => Ports;

/** The one port, and the one for TLS. Opening throws `unavailable`, reason `listen`. */
export const openPorts =
  (options: PortsOptions): OpenPorts =>
  (accept) => {
    const listener = listen(options, accept);
    const tls = listenTls(options, accept, listener);
    return {
      port: listener.port,
      get tlsPort() {
        return tls?.port;
      },
      look: () => tls?.look(),
      stop: (force) => {
        listener.stop(force);
        tls?.stop(force);
      },
    };
  };

function listen({ hostname, port }: PortsOptions, accept: Accept): Bun.TCPSocketListener<Connection> {
  try {
    return Bun.listen<Connection>({
      hostname,
      port,
      allowHalfOpen: true,
      socket: { ...Connection.handlers, open: (socket) => accept(socket, false) },
    });
  } catch (cause) {
    const taken = (cause as { code?: unknown }).code === "EADDRINUSE";
    const why = taken ? "another program has this port; BOXYARD_LISTEN chooses another" : String((cause as Error).message);
    throw new AppError("unavailable", `Cannot listen on ${hostname}:${port}: ${why}`, { reason: "listen", cause });
  }
}

function listenTls({ tls, logger }: PortsOptions, accept: Accept, listener: Bun.TCPSocketListener<Connection>): TlsListener | undefined {
  try {
    return tls && new TlsListener(tls, (socket) => accept(socket, true), logger);
  } catch (error) {
    listener.stop(true);
    throw error;
  }
}

/**
 * Ports that stay open while fronts come and go: the connections go to the newest front that has not stopped. A replica has one such pair, for the front that
 * forwards, which is always there, and for that of the owner.
 */
export class SharedPorts {
  private readonly ports: Ports;
  private readonly takers: Accept[] = [];

  constructor(options: PortsOptions) {
    this.ports = openPorts(options)((socket, tls) => {
      const taker = this.takers.at(-1);
      if (taker) taker(socket, tls);
      else socket.terminate();
    });
  }

  /** For a front; its stop leaves the ports open. */
  readonly lend: OpenPorts = (accept) => {
    this.takers.push(accept);
    const { port, tlsPort } = this.ports;
    const give = () => {
      const at = this.takers.indexOf(accept);
      if (at >= 0) this.takers.splice(at, 1);
    };
    return { port, tlsPort, look: () => this.ports.look(), stop: give };
  };

  stop(force: boolean): void {
    this.ports.stop(force);
  }
}
