import type { HostPolicy } from "@boxyard/driver";
import type { Miss } from "./recordings/recordings.ts";
import type { TrafficReport } from "./traffic.ts";

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
  /** Port to which connections to other ports are led, of sandboxes whose traffic goes through a proxy. */
  readonly rawPort: number;
  /** IPv4 address of the name server that it asks, port 53. */
  readonly nameServer: string;
  /** User and group that it becomes once it listens; it stays what it is without them. */
  readonly user?: number;
  /** Free bytes that sandboxes leave of the disk of the recordings (`BOXYARD_RESERVE_DISK`), if the operator has set that; recordings leave more. */
  readonly diskReserve?: number;
}

/** A certificate and its key in PEM form. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

export type ToProxy =
  /** Replaces the rules of the sandbox with this address; without a policy nothing is allowed. Open connections that it does not allow are cut before the answer. */
  | { readonly type: "rules"; readonly id: number; readonly address: string; readonly policy?: HostPolicy }
  /** Authorities by which servers are verified where TLS is opened, in PEM form; undefined: those that Bun brings. */
  | { readonly type: "trust"; readonly pem?: string }
  /** The answer to `certificate`; without `cert` and `key` TLS may not be opened for this host. */
  | ({ readonly type: "certificate"; readonly host: string } & Partial<Identity>);

export type FromProxy =
  /** Listens. */
  | { readonly type: "ready" }
  /** The rules of the message with this id are in force. */
  | { readonly type: "done"; readonly id: number }
  /** A recording has no answer to this request of a sandbox. */
  | ({ readonly type: "miss" } & Miss)
  /** Bytes of a connection of a sandbox, or that it was refused. */
  | ({ readonly type: "traffic" } & TrafficReport)
  /** Something is missing in the recording with this id from now on. */
  | { readonly type: "stopped"; readonly recording: string; readonly reason: string }
  /** Asks for a certificate by which it opens TLS for a host. */
  | { readonly type: "certificate"; readonly host: string };
