import { lookup as lookupName } from "node:dns/promises";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { AppError, unlessAborted } from "@boxyard/core";
import { isLoopback, type ListedRegistry, type ProxySettings, parseListed } from "../registry-hosts.ts";
import { isPublicAddress, plainAddress } from "./public-address.ts";

/** Gives the addresses of a host name; none if the name does not exist. */
export type NameLookup = (host: string) => Promise<readonly string[]>;

export interface FetchPolicyOptions {
  /** Registries that may be on this machine or in a private network: `HOST` or `HOST:PORT`; with `http://` in front for one without TLS. */
  readonly privateRegistries?: readonly string[];
  /** Hosts that may give tokens for a registry, besides the hosts of its own site. */
  readonly tokenServers?: Readonly<Record<string, readonly string[]>>;
  readonly proxy?: ProxySettings;
  /** The machine's resolver by default. */
  readonly lookup?: NameLookup;
  /** Addresses of this machine, which do not count as public; those of its interfaces by default. */
  readonly ownAddresses?: () => readonly string[];
  /** Words for its errors; those of registries by default. */
  readonly purpose?: { readonly verb: string; readonly thing: string; readonly setting: string };
}

/**
 * Decides which addresses the server may fetch images from. Tenants name registries, and registries name token servers and addresses of layers, so
 * both could make the server fetch from networks that only this machine can reach. Allowed are public addresses with TLS, and what the operator
 * has listed.
 */
export class FetchPolicy {
  private readonly listed: readonly ListedRegistry[];
  private readonly tokenServers: Readonly<Record<string, readonly string[]>>;
  private readonly proxy: ProxySettings;
  private readonly lookup: NameLookup;
  private readonly ownAddresses: () => readonly string[];
  private readonly purpose: NonNullable<FetchPolicyOptions["purpose"]>;

  constructor(options: FetchPolicyOptions = {}) {
    this.listed = (options.privateRegistries ?? []).map(parseListed);
    this.tokenServers = options.tokenServers ?? {};
    this.proxy = options.proxy ?? { noProxy: "" };
    this.lookup = options.lookup ?? machineLookup;
    this.ownAddresses = options.ownAddresses ?? interfaceAddresses;
    this.purpose = options.purpose ?? { verb: "fetched from", thing: "a registry", setting: "BOXYARD_PRIVATE_REGISTRIES" };
  }

  /** The scheme of a registry: `https`, except for registries that the operator has listed without TLS. */
  schemeOf(registry: string): "http" | "https" {
    return this.entryOf(new URL(`https://${registry}/`))?.plain ? "http" : "https";
  }

  /**
   * The addresses of `url` that are allowed, at least one. The caller must connect to one of them, since a later look-up of the name may give
   * others. Undefined when any address is allowed, because the operator has listed the host, or a proxy connects to it. `from`: the registry
   * that led to `url`; listed registries are reached from listed registries only. Throws `permission_denied`, reason `registry_not_allowed`;
   * `unavailable`, reason `registry_unreachable`, for a name without addresses.
   */
  async addressesOf(url: URL, from: string, signal: AbortSignal): Promise<readonly string[] | undefined> {
    if (this.checkName(url, from) === "listed" || this.proxyOf(url) !== undefined) return undefined;
    const host = hostOf(url);
    const isName = isIP(host) === 0;
    // The resolution of a name may take long and cannot be cancelled.
    const addresses = isName ? await unlessAborted(this.lookup(host), signal) : [host];
    if (addresses.length === 0) {
      throw new AppError("unavailable", `${url.host} cannot be reached: there is no such host`, { reason: "registry_unreachable" });
    }
    const allowed = addresses.filter((address) => this.isPublic(address));
    if (allowed.length === 0) throw this.refused(url, "it is not in a public network");
    return allowed;
  }

  /** The part of `addressesOf` that looks no name up: whether the operator has listed the host. */
  checkName(url: URL, from: string): "listed" | "unlisted" {
    const entry = this.entryOf(url);
    if (entry && this.entryOf(new URL(`https://${from}/`)) && url.protocol === (entry.plain ? "http:" : "https:")) return "listed";
    if (url.protocol !== "https:") throw this.refused(url, "its address does not use TLS");
    const host = hostOf(url);
    if (isIP(host) === 0 ? isLoopback(host) || host.endsWith(".localhost") : !this.isPublic(host))
      throw this.refused(url, "it is not a public address");
    return "unlisted";
  }

  /** The proxy for `url`; undefined without one. Loopback addresses are reached without a proxy. */
  proxyOf(url: URL): string | undefined {
    const proxy = url.protocol === "https:" ? this.proxy.https : this.proxy.http;
    if (proxy === undefined || isLoopback(url.host)) return undefined;
    const spared = this.proxy.noProxy.split(",").map((entry) => entry.trim().toLowerCase());
    const isSpared = (entry: string) =>
      entry === "*" ||
      entry === url.host ||
      entry === url.hostname ||
      (entry !== "" && url.hostname.endsWith(`.${entry.replace(/^\*?\./, "")}`));
    return spared.some((entry) => isSpared(entry) || entry === `.${url.hostname}`) ? undefined : proxy;
  }

  /** True when tokens for a registry may come from `host`: of the same site, or named by the operator. */
  mayGiveTokens(registry: string, host: URL): boolean {
    const own = new URL(`https://${registry}/`);
    const pairs = this.tokenServers[registry] ?? [];
    return siteOf(own.hostname) === siteOf(host.hostname) || pairs.includes(host.host) || pairs.includes(host.hostname);
  }

  protected isPublic(address: string): boolean {
    return isPublicAddress(address) && !this.ownAddresses().map(plainAddress).includes(plainAddress(address));
  }

  private entryOf(url: URL): ListedRegistry | undefined {
    const isPort = ({ port, plain }: ListedRegistry) => port === "" || port === (url.port || (plain ? "80" : "443"));
    return this.listed.find((entry) => entry.hostname === url.hostname && isPort(entry));
  }

  private refused(url: URL, why: string): AppError {
    return new AppError(
      "permission_denied",
      `Nothing is ${this.purpose.verb} ${url.host.slice(0, 200)}: ${why}. The operator of this server can allow ${this.purpose.thing} there with ${this.purpose.setting}`,
      { reason: "registry_not_allowed" },
    );
  }
}

/** A name with a dot at the end means the same host. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$|\.$/g, "");

/**
 * The part of a host name that one owner has: two labels, or three below a country's short second level (`a.co.uk`). The list of public suffixes
 * is not needed: a host of the same site still must have a public address.
 */
function siteOf(hostname: string): string {
  if (isIP(hostname.replace(/^\[|\]$/g, "")) !== 0) return hostname;
  const labels = hostname.split(".");
  const [second = "", top = ""] = labels.slice(-2);
  return labels.slice(top.length === 2 && second.length <= 3 ? -3 : -2).join(".");
}

async function machineLookup(host: string): Promise<string[]> {
  try {
    return (await lookupName(host, { all: true })).map(({ address }) => address);
  } catch {
    return [];
  }
}

const interfaceAddresses = (): string[] => Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
