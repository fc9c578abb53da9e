import type { Connection } from "./connection.ts";

/** The answer to one request: receives the request's body and the events of its client. */
export interface Exchange {
  /** Connection to which the request's body is forwarded unchanged, if it is. */
  readonly bodyTarget?: Connection | undefined;
  /** Longest time between two pieces of the request's body, after which the connection ends. Default: no bound. */
  readonly bodyIdleMs?: number;
  /** Raw bytes of the request's body, its chunked coding included. */
  onBody(bytes: Buffer): void;
  /** The body is complete; for a request without one, at once. */
  onBodyEnd(): void;
  /** The client has taken everything that was written. */
  onClientDrain(): void;
  /** The connection is closed; nothing can be written any more. */
  onClientClosed(): void;
  /** After `becomeTunnel`: the client has sent its last byte. */
  onClientEnd?(): void;
}

/** What serves a connection by another protocol, once both sides have agreed on that. */
export interface Takeover {
  /** True while no request is under way. */
  readonly isIdle: boolean;
  /** Ends the connection after what is under way. */
  drain(): void;
}
