/**
 * Rules for connections from a sandbox to the outside. Each list has at most 256 entries. `allowOut` has priority over `denyOut`;
 * addresses in neither list are allowed. Private networks are always denied. If `denyOut` has `0.0.0.0/0`, only names in `allowOut` are resolved.
 */
export interface EgressRules {
  /**
   * A name for what may be reached; the lists are added to it. `none`: nothing. `packages`: only the package registries that the server's machine is set to
   * use, by the settings of its pip, npm, apt, cargo and go. `all`: everything but private networks. Default: what the lists say.
   */
  readonly preset?: "none" | "packages" | "all" | undefined;
  /**
   * `1.2.3.4`, `9.0.0.0/8`; with `0.0.0.0/0` in `denyOut` also names: `example.com`, `*.example.com` (every name below it), `*`. A name is reached by HTTP
   * on port 80 and HTTPS on port 443.
   */
  readonly allowOut?: readonly string[] | undefined;
  /** Addresses and networks. IPv6 networks are accepted without effect, because sandboxes have no IPv6. */
  readonly denyOut?: readonly string[] | undefined;
  /** IPv4 addresses of name servers that may be reached while `allowOut` has a name, 10 at most. Default: none but the one in `/etc/resolv.conf`. */
  readonly dnsServers?: readonly string[] | undefined;
  /**
   * What is done to requests by HTTPS on port 443 to a host (`api.example.com`), or to every host below one (`*.example.com`): 10 hosts at most. The most
   * exact name decides. For these hosts the server opens TLS outside the sandbox. Rules open no way by themselves.
   */
  readonly rules?: Readonly<Record<string, readonly NetworkRule[]>> | undefined;
  /** Secrets that are put into requests outside the sandbox, which never has their values; 20 at most. Answers that show one have `[masked]` in its place. */
  readonly secrets?: readonly NetworkSecret[] | undefined;
  /**
   * A proxy outside through which all TCP connections go that the other rules let out; nothing else (UDP) leaves the sandbox then. While the proxy cannot be
   * reached, nothing is.
   */
  readonly egressProxy?: EgressProxy | undefined;
  /**
   * Name of a recording (`Recordings`) in which every exchange by HTTP on port 80 and HTTPS on port 443 is kept; it is made when it is not there. The server opens
   * TLS outside the sandbox, and secrets are not kept.
   */
  readonly record?: string | undefined;
  /** Name of a recording that answers requests by HTTP and HTTPS; not together with `record`. */
  readonly replay?: string | undefined;
  /**
   * What happens to a request that the recording of `replay` has no answer to. `deny`, the default: it gets 504, and nothing leaves the sandbox at all. `pass`: it
   * is sent as the other rules allow.
   */
  readonly onMiss?: "deny" | "pass" | undefined;
}

/** A proxy outside. It must have a public address. */
export interface EgressProxy {
  /** `HOST:PORT` for SOCKS5; or `socks5://HOST:PORT`, `http://HOST:PORT` (by CONNECT). */
  readonly address: string;
  readonly username?: string | undefined;
  /** Never returned. */
  readonly password?: string | undefined;
  /** The proxy itself is spoken to by TLS. Its certificate must be for `serverName` (default: the host of `address`), by an authority of `caCert` (PEM; default: the server's). */
  readonly tls?: { readonly enabled: boolean; readonly serverName?: string | undefined; readonly caCert?: string | undefined } | undefined;
}

/** What is done to the requests to a host; a host has one rule at most. */
export interface NetworkRule {
  /** `headers`: sent with each request, in place of its own of these names; 20 at most. */
  readonly transform?: { readonly headers?: Readonly<Record<string, string>> | null | undefined } | null | undefined;
}

/** A secret of the team that requests by HTTPS to some hosts get, outside the sandbox. */
export interface NetworkSecret {
  /** Name of the secret (`Secrets.create`). The sandbox sends `Secrets.standIn(name)` in its place. */
  readonly name: string;
  /** Hosts whose requests get it: names, or `*.` and a name; 10 at most. */
  readonly hosts: readonly string[];
  /** Methods whose requests get it, in upper case. Default: all. */
  readonly methods?: readonly string[] | undefined;
  /** Paths whose requests get it: `/v1/chat`, or `/v1/*` for all that begin with `/v1/`. Default: all. */
  readonly paths?: readonly string[] | undefined;
}
