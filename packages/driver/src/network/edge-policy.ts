import { parseHostRule } from "./host-names.ts";
import { isUsableProxy, type UpstreamProxy } from "./upstream-proxy.ts";

/** What the egress proxy does to the requests of a sandbox, beyond deciding by name. It may hold secrets: a driver keeps it in memory only. */
export interface EdgePolicy {
  /** Hosts for which TLS is opened. The most exact name decides: a name before a wildcard, then the longest one. */
  readonly hosts: readonly EdgeHost[];
  /** Values that are put into requests in place of what the sandbox holds for them. TLS is opened for their hosts too. */
  readonly secrets?: readonly EdgeSecret[];
  /** The proxy outside through which all connections of the sandbox go. */
  readonly proxy?: UpstreamProxy;
  /** True: the hosts are not known to this process (`withoutEdge`), and the proxy refuses every connection until they are. */
  readonly isWithheld?: boolean;
}

export interface EdgeHost {
  /** A name, or `*.` and a name, as `parseHostRule` gives it. */
  readonly host: string;
  /** Fields that each request gets instead of its own of that name. */
  readonly headers: Readonly<Record<string, string>>;
  /** The secrets among the values, which answers of the host must not bring into the sandbox. */
  readonly masked?: readonly string[];
  /** Why requests to this host are refused: a secret that a rule names cannot be had. */
  readonly refused?: string;
}

/** A secret of which the sandbox has a placeholder. */
export interface EdgeSecret {
  /** The text that the sandbox sends; nothing else in a request looks like it. */
  readonly placeholder: string;
  readonly value: string;
  /** Hosts that get the value, as in `EdgeHost.host`. */
  readonly hosts: readonly string[];
  /** Methods of requests that get the value, in upper case; all by default. */
  readonly methods?: readonly string[];
  /** Paths of requests that get the value: one (`/v1/chat`), or `/v1/*` for those below it; all by default. */
  readonly paths?: readonly string[];
}

/** Bounds of a policy. */
export const EDGE_LIMITS = { hosts: 64, secrets: 64, host: 128, headers: 20, headerName: 64, headerValue: 2048 } as const;

const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Tabs, visible ASCII and what is beyond ASCII in ISO 8859-1: nothing that ends a field, or that the wire cannot hold. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Fields that frame a message, choose its server or belong to one connection: a rule for one would make requests that servers read differently. */
const FRAMING =
  /^(host|content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|proxy-.*|:.*|http2-settings|content-encoding)$/i;

/** Whether a rule may set the field of this name. */
export const isEdgeHeader = (name: string): boolean =>
  name.length <= EDGE_LIMITS.headerName && FIELD_NAME.test(name) && !FRAMING.test(name);
export const isEdgeValue = (value: string): boolean => value.length <= EDGE_LIMITS.headerValue && FIELD_VALUE.test(value);

/** Whether the policy is within its bounds, and holds nothing that would break a request. */
export function isEdgeEnforceable({ hosts, secrets = [], proxy }: EdgePolicy): boolean {
  if (proxy && !isUsableProxy(proxy)) return false;
  if (hosts.length > EDGE_LIMITS.hosts || secrets.length > EDGE_LIMITS.secrets) return false;
  const isHost = (host: string) => host !== "*" && parseHostRule(host) === host;
  if (!secrets.every(({ hosts: of, value }) => of.length > 0 && of.every(isHost) && isEdgeValue(value))) return false;
  return hosts.every(({ host, headers }) => {
    const fields = Object.entries(headers);
    return (
      isHost(host) && fields.length <= EDGE_LIMITS.headers && fields.every(([name, value]) => isEdgeHeader(name) && FIELD_VALUE.test(value))
    );
  });
}

/** The host among those of a policy whose rules hold for a name that `canonicalHost` gave. */
export function edgeHostFor(hosts: readonly EdgeHost[], name: string): EdgeHost | undefined {
  const fits = ({ host }: EdgeHost) => fitsHost(host, name);
  const rank = ({ host }: EdgeHost) => (host === name ? Number.POSITIVE_INFINITY : host.length);
  return hosts.filter(fits).toSorted((a, b) => rank(b) - rank(a))[0];
}

const fitsHost = (host: string, name: string) => host === name || (host.startsWith("*.") && name.endsWith(host.slice(1)));

/** The secrets that requests to a host may get. */
export const edgeSecretsFor = ({ secrets = [] }: EdgePolicy, name: string): readonly EdgeSecret[] =>
  secrets.filter(({ hosts }) => hosts.some((host) => fitsHost(host, name)));

/** Whether TLS is opened for a host. */
export const isOpenedAtEdge = (policy: EdgePolicy, name: string): boolean =>
  edgeHostFor(policy.hosts, name) !== undefined || edgeSecretsFor(policy, name).length > 0;
