import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { AppError } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { ClientConnection, Connection } from "@boxyard/http1";
import { Http2Connection } from "./http2/http2-connection.ts";
import { RefusedClient } from "./refused-clients.ts";

/** Where the server listens for TLS, and with which files (PEM). */
export interface TlsListen {
  readonly hostname: string;
  /** 0: any free port. */
  readonly port: number;
  /** The certificate, then those between it and its authority. */
  readonly cert: string;
  readonly key: string;
}

/** For clients, in the order of the server's choice (RFC 7301); one that offers nothing gets HTTP/1.1. */
const OFFERED = "\x02h2\x08http/1.1";

/**
 * The port for TLS, beside the one for plain HTTP. When the files change, new connections get the new certificate; those that are open go on. Files that
 * cannot be used leave the former certificate in place.
 */
export class TlsListener {
  private readonly options: TlsListen;
  private readonly accept: (socket: Bun.Socket<Connection>) => void;
  private readonly logger: Logger;
  private listener: Bun.TCPSocketListener<Connection>;
  private seen: string;

  /** Throws `invalid_argument`, reason `tls_files`, and `unavailable`, reason `listen`. */
  constructor(options: TlsListen, accept: (socket: Bun.Socket<Connection>) => void, logger: Logger) {
    this.options = options;
    this.accept = accept;
    this.logger = logger;
    this.seen = this.stateOfFiles();
    this.listener = this.listen(options.port, this.read());
  }

  get port(): number {
    return this.listener.port;
  }

  /** Takes files that have changed since the last look. */
  look(): void {
    const state = this.stateOfFiles();
    if (state === this.seen) return;
    this.seen = state;
    let files: TlsFiles;
    try {
      files = this.read();
    } catch (error) {
      this.logger.error({ err: error }, "the new certificate of the server cannot be used; the former one stays");
      return;
    }
    const { port } = this;
    // A listener keeps its certificate. A client that connects between these two lines is refused, and tries again.
    this.listener.stop(false);
    this.listener = this.listen(port, files);
    this.logger.info({ cert: this.options.cert }, "new connections get the new certificate");
  }

  stop(force: boolean): void {
    this.listener.stop(force);
  }

  private stateOfFiles(): string {
    return [this.options.cert, this.options.key].map((path) => modifiedAt(path)).join(" ");
  }

  private read(): TlsFiles {
    try {
      const files = { cert: readFileSync(this.options.cert, "utf8"), key: readFileSync(this.options.key, "utf8") };
      checkPair(files);
      return files;
    } catch (cause) {
      const message = `BOXYARD_TLS_CERT and BOXYARD_TLS_KEY: not a certificate with its key (${(cause as Error).message})`;
      throw new AppError("invalid_argument", message, { reason: "tls_files", cause });
    }
  }

  private listen(port: number, tls: TlsFiles): Bun.TCPSocketListener<Connection> {
    const { hostname } = this.options;
    const open = (socket: Bun.Socket<Connection>) => this.accept(socket);
    const handshake = ({ data: { owner, protocol, closed } }: Bun.Socket<Connection>) => {
      if (closed) return;
      if (owner instanceof RefusedClient) owner.onHandshake(protocol);
      else if (protocol === "h2" && owner instanceof ClientConnection) new Http2Connection(owner, this.accept);
    };
    try {
      return Bun.listen<Connection>({
        hostname,
        port,
        tls: { ...tls, ...{ ALPNProtocols: OFFERED } },
        allowHalfOpen: true,
        socket: { ...Connection.handlers, open, handshake },
      });
    } catch (cause) {
      const why = String((cause as Error).message);
      throw new AppError("unavailable", `Cannot listen for TLS on ${hostname}:${port} (BOXYARD_TLS_LISTEN): ${why}`, {
        reason: "listen",
        cause,
      });
    }
  }
}

interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

const modifiedAt = (path: string): string => {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat ? `${stat.ino}:${stat.mtimeNs}:${stat.size}` : "none";
};

function checkPair({ cert, key }: TlsFiles): void {
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) throw new Error("the key is not that of the certificate");
}
