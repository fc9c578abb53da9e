import type { Connection } from "./connection.ts";

/** The answer to one request, as the connection sees it. */
export interface Exchange {
  /** Where the request's body goes as it is, if it does. */
  readonly bodyTarget?: Connection | undefined;
  /** The request's body may pause for so long, and no longer. Default: for ever. */
  readonly bodyIdleMs?: number;
  /** Raw bytes of the request's body, its chunked coding included. */
  onBody(bytes: Buffer): void;
  onBodyEnd(): void;
  onClientDrain(): void;
  /** The client is gone; nothing can be written any more. */
  onClientClosed(): void;
  /** After `becomeTunnel`: the client has sent its last byte. */
  onClientEnd?(): void;
}
