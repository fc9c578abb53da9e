import { AppError, BLOCKED_NETWORKS } from "@boxyard/core";
import { contains, formatAddress, formatNetwork, type Network, overlaps, parseAddress, parseNetwork } from "./addresses.ts";
import { type Link, linkTowards, listAddresses, listLinks, listRoutes } from "./netlink/route.ts";
import type { NetlinkSocket } from "./netlink/socket.ts";
import { readSysctl } from "./sysctl.ts";

/** Facts about the machine's own network, read from the kernel without starting a process. */

export interface MachineFacts {
  /** Links with routes to addresses that sandboxes may reach: forwarding is needed there. */
  readonly uplinks: readonly string[];
  /** MTU of the link to the internet, in bytes; 1500 on a machine that has none. */
  readonly mtu: number;
  /** The machine's own addresses, without loopback and without those of `ownGroup`. */
  readonly addresses: readonly string[];
  /** How many connections the machine can track. */
  readonly mostTracked: number;
}

const blocked = BLOCKED_NETWORKS.map(parseNetwork);
/** Arbitrary addresses outside: the kernel is only asked for the route to them. */
const OUTSIDE = ["1.1.1.1", "129.0.0.1"].map((text) => parseAddress(text) as number);
const MIN_MTU = 576;
/** The kernel does not report its limit before something tracks connections; on a machine of 1 GiB or more it is never smaller than this. */
const LEAST_TRACKED = 65_536;
/** The kernel allows nearly every character in a link's name; links whose names would need quoting in rules and paths are ignored. */
const PLAIN_NAME = /^[\w.@-]+$/;

const inside = (outer: Network, inner: Network): boolean => outer.prefix <= inner.prefix && contains(outer, inner.base);

/**
 * Reads the facts; links of `ownGroup` (every instance's link to its router) are left out. `mostTracked` replaces the kernel's limit of tracked
 * connections.
 */
export function readMachine(netlink: NetlinkSocket, ownGroup: number, mostTracked?: number): MachineFacts {
  const links = new Map(listLinks(netlink).map((link) => [link.index, link]));
  const foreign = (index: number): Link | undefined => {
    const link = links.get(index);
    return link && link.group !== ownGroup && link.name !== "lo" && PLAIN_NAME.test(link.name) ? link : undefined;
  };
  const uplinks = new Set<string>();
  for (const route of listRoutes(netlink)) {
    const to = { base: route.destination, prefix: route.prefix };
    const link = foreign(route.index);
    if (link && !blocked.some((network) => inside(network, to))) uplinks.add(link.name);
  }
  const main = OUTSIDE.map((address) => foreign(linkTowards(netlink, address) ?? 0)).find((link) => link !== undefined);
  if (main) uplinks.add(main.name);
  const addresses = listAddresses(netlink).filter((entry) => foreign(entry.index));
  return {
    mostTracked: mostTracked ?? Number(readSysctl("netfilter/nf_conntrack_max") ?? LEAST_TRACKED),
    uplinks: [...uplinks].sort(),
    mtu: Math.max(MIN_MTU, main?.mtu ?? 1500),
    addresses: [...new Set(addresses.map((entry) => formatAddress(entry.address)))].sort(),
  };
}

/** What on this machine overlaps `network`, one sentence each. The link `ownLink` does not count. */
export function findOverlaps(netlink: NetlinkSocket, network: Network, ownLink: string, nameServers: readonly string[]): string[] {
  const links = new Map(listLinks(netlink).map((link) => [link.index, link.name]));
  const found = new Set<string>();
  for (const { address, destination, prefix, index } of listAddresses(netlink)) {
    if (links.get(index) === ownLink || !overlaps(network, { base: destination, prefix })) continue;
    found.add(`${formatAddress(address)}/${prefix} is an address of the machine on ${links.get(index) ?? "a link"}`);
  }
  for (const { destination, prefix, index } of listRoutes(netlink)) {
    if (prefix === 0 || links.get(index) === ownLink || !overlaps(network, { base: destination, prefix })) continue;
    found.add(`${formatNetwork({ base: destination, prefix })} is routed to ${links.get(index) ?? "another place"}`);
  }
  for (const server of nameServers) {
    const address = parseAddress(server);
    if (address !== undefined && contains(network, address)) found.add(`${server} is a name server of the machine`);
  }
  return [...found];
}

/** Throws `failed_precondition`, reason `network_overlap`; the message names what overlaps, and the setting to change. */
export function assertNoOverlap(netlink: NetlinkSocket, network: Network, ownLink: string, nameServers: readonly string[]): void {
  const found = findOverlaps(netlink, network, ownLink, nameServers);
  if (found.length === 0) return;
  const more = found.length > 3 ? ` and ${found.length - 3} more` : "";
  const message =
    `The sandboxes' network ${formatNetwork(network)} overlaps this machine's own: ${found.slice(0, 3).join("; ")}${more}. ` +
    "Set BOXYARD_NETWORK to a free range, such as 172.29.0.0/16, before the set-up.";
  throw new AppError("failed_precondition", message, { reason: "network_overlap", details: { found } });
}

/** The ranges that are tried first: other software rarely uses them. */
const FIRST_CHOICES = Array.from({ length: 16 }, (_, i) => `10.${208 + i}.0.0/16`);

/** Ranges in the order in which they are tried, from one of the first choices on. 198.18.0.0/15 is reserved for tests and free on nearly every machine. */
export function candidateRanges(start: number): string[] {
  const at = start % FIRST_CHOICES.length;
  const others = Array.from({ length: 14 }, (_, i) => `172.${31 - i}.0.0/16`);
  return [...FIRST_CHOICES.slice(at), ...FIRST_CHOICES.slice(0, at), ...others, "198.18.0.0/16", "198.19.0.0/16"];
}

/**
 * The first range of `candidateRanges(start)` that overlaps nothing on this machine and none of `claimed`. `failed_precondition`, reason
 * `network_overlap`, when all do.
 */
export function chooseFreeNetwork(
  netlink: NetlinkSocket,
  nameServers: readonly string[],
  start: number,
  claimed: readonly string[],
): string {
  const taken = claimed.map(parseNetwork);
  for (const candidate of candidateRanges(start)) {
    const network = parseNetwork(candidate);
    if (taken.some((other) => overlaps(network, other))) continue;
    if (findOverlaps(netlink, network, "", nameServers).length === 0) return candidate;
  }
  const message = "Every range we would choose is in use on this machine: set BOXYARD_NETWORK to a free IPv4 range (/16 is usual)";
  throw new AppError("failed_precondition", message, { reason: "network_overlap" });
}
