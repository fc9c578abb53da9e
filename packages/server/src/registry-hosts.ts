/** The machine's proxy, as its environment names it. */
export interface ProxySettings {
  readonly https?: string;
  readonly http?: string;
  /** `NO_PROXY`: hosts and domains that are reached without it, or `*`. */
  readonly noProxy: string;
}

/** A registry that the operator has listed. */
export interface ListedRegistry {
  readonly hostname: string;
  /** Empty: any port. */
  readonly port: string;
  readonly plain: boolean;
}

/** True for loopback addresses, where plain HTTP is safe. */
export function isLoopback(registry: string): boolean {
  const host = registry.replace(/:\d+$/, "");
  return host === "localhost" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Parses `[http://]HOST[:PORT]`. Throws `RangeError` or `TypeError` for other text. */
export function parseListed(entry: string): ListedRegistry {
  const [, scheme, host, port = ""] = /^(https?:\/\/)?(\[[0-9a-fA-F:.]+\]|[^:/?#@[\]]+)(?::(\d{1,5}))?$/.exec(entry) ?? [];
  if (host === undefined) throw new RangeError(`'${entry}' is not a registry`);
  const { hostname } = new URL(`https://${host}/`);
  return { hostname, port, plain: scheme === "http://" || (scheme === undefined && isLoopback(host)) };
}
