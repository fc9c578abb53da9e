/**
 * What the server and the egress proxy tell each other: one JSON value a line, on the proxy's standard input and output. The proxy ends when its standard
 * input ends, so it never outlives its server with rules that nobody changes any more.
 */

/** The proxy's first argument, as JSON. */
export interface EgressProxyConfig {
  /** IPv4 address on which it listens: the gateway of the sandboxes. */
  readonly address: string;
  /** Port to which connections to port 80 are led. */
  readonly httpPort: number;
  /** Port to which connections to port 443 are led. */
  readonly tlsPort: number;
  /** IPv4 address of the name server that it asks, port 53. */
  readonly nameServer: string;
  /** User and group that it becomes once it listens; it stays what it is without them. */
  readonly user?: number;
}

/** Replaces the rules of the sandbox with this address. Open connections that they do not allow are cut before the answer. */
export interface SetRules {
  readonly id: number;
  readonly address: string;
  /** Rules as `parseHostRule` of the driver package gives them; none: nothing is allowed. */
  readonly hosts: readonly string[];
}

export type FromProxy =
  /** Listens. */
  | { readonly type: "ready" }
  /** The rules of the message with this id are in force. */
  | { readonly type: "done"; readonly id: number };
