import { isAppError } from "@boxyard/core";
import { close, inNetworkNamespace } from "../sys/libc.ts";
import type { Forwarding } from "./forwarding.ts";
import type { MachineFacts } from "./machine.ts";
import {
  deleteLink,
  findLink,
  IFF,
  linkUp,
  newAddress,
  newGatewayRoute,
  newLinkRoute,
  newNeighbour,
  newUnreachableRoute,
  newVethPair,
  setLinkMtu,
} from "./netlink/route.ts";
import { NETLINK_NETFILTER, NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";
import { applyRules } from "./nft.ts";
import { macOf, type Plan } from "./plan.ts";
import { makeNamespace, openNamespace } from "./router-namespace.ts";
import { machineRules, routerRules } from "./rules.ts";
import type { NetworkShares } from "./shares.ts";
import { ensureSysctl } from "./sysctl.ts";

/** Sockets for requests to the kernel: in the machine's network namespace and in the router's. */
export interface Kernel {
  readonly machine: NetlinkSocket;
  readonly machineFilter: NetlinkSocket;
  readonly router: NetlinkSocket;
  readonly routerFilter: NetlinkSocket;
  /** Gets what the router's rules report of packets. */
  readonly routerPackets: NetlinkSocket;
  /** Descriptor of the router's network namespace. */
  readonly namespace: number;
}

/** Opens the router's namespace (made if there is none) and the sockets. */
export function openKernel(plan: Plan): Kernel {
  const opened: { close(): void }[] = [];
  const keep = <T extends { close(): void }>(thing: T): T => {
    opened.push(thing);
    return thing;
  };
  try {
    const namespace = openNamespace(plan.namespaceFile) ?? makeNamespace(plan.namespaceFile);
    keep({ close: () => close(namespace) });
    const here = (protocol: number) => keep(new NetlinkSocket(protocol));
    const there = (protocol: number) => inNetworkNamespace(namespace, () => here(protocol));
    return {
      machine: here(NETLINK_ROUTE),
      machineFilter: here(NETLINK_NETFILTER),
      router: there(NETLINK_ROUTE),
      routerFilter: there(NETLINK_NETFILTER),
      routerPackets: there(NETLINK_NETFILTER),
      namespace,
    };
  } catch (error) {
    for (const thing of opened) thing.close();
    throw error;
  }
}

export function closeKernel(kernel: Kernel): void {
  for (const socket of [kernel.machine, kernel.machineFilter, kernel.router, kernel.routerFilter, kernel.routerPackets]) socket.close();
  close(kernel.namespace);
}

/** Settings of the router. A new network namespace copies some settings from the machine's own, so each is set explicitly. */
const ROUTER_SYSCTLS: Readonly<Record<string, string>> = {
  "ipv6/conf/all/disable_ipv6": "1",
  "ipv6/conf/default/disable_ipv6": "1",
  "ipv4/ip_forward": "1",
  "ipv4/conf/all/rp_filter": "1",
  "ipv4/conf/default/rp_filter": "1",
  "ipv4/conf/all/accept_redirects": "0",
  "ipv4/conf/default/accept_redirects": "0",
  "ipv4/conf/all/send_redirects": "0",
  "ipv4/conf/default/send_redirects": "0",
  "ipv4/conf/all/accept_source_route": "0",
  "ipv4/conf/default/accept_source_route": "0",
  "ipv4/conf/all/proxy_arp": "0",
  "ipv4/conf/default/proxy_arp": "0",
  "ipv4/conf/all/route_localnet": "0",
  "ipv4/conf/default/route_localnet": "0",
  // A refused packet is answered each time, not six times and then with silence; the answer goes to the sandbox that sent it.
  "ipv4/icmp_ratelimit": "0",
  // Connections that ended count towards a sandbox's limit: forget them sooner than the two minutes of the default.
  "netfilter/nf_conntrack_tcp_timeout_time_wait": "10",
  "netfilter/nf_conntrack_tcp_timeout_established": "86400",
};

/** Makes the pair of links between machine and router, or repairs it. Repeatable: about 20 messages, and it starts no process. */
export function ensureUplink(kernel: Kernel, plan: Plan, mtu: number): void {
  inNetworkNamespace(kernel.namespace, () => {
    for (const [name, value] of Object.entries(ROUTER_SYSCTLS)) ensureSysctl(name, value);
  });
  const { hostIndex, routerIndex } = ensurePair(kernel, plan, mtu);
  // Before the link comes up: it gets no IPv6 address, and it forwards, whatever the machine's defaults are.
  ensureSysctl(`ipv6/conf/${plan.hostLink}/disable_ipv6`, "1");
  ensureSysctl(`ipv4/conf/${plan.hostLink}/forwarding`, "1");
  ensureSysctl(`ipv4/conf/${plan.hostLink}/accept_redirects`, "0");
  ensureSysctl(`ipv4/conf/${plan.hostLink}/send_redirects`, "0");
  const range = { destination: plan.network.base, prefix: plan.network.prefix };
  kernel.router.request(
    linkUp(1),
    linkUp(routerIndex),
    newAddress(plan.gateway, routerIndex),
    newNeighbour(plan.hostAddress, macOf("host", plan.hostAddress), routerIndex),
    newGatewayRoute({ destination: 0, prefix: 0 }, plan.hostAddress, routerIndex),
    // An address without a lease is unreachable at once. The machine's own address is in the range too and needs a more specific route.
    newLinkRoute(plan.hostAddress, routerIndex),
    newUnreachableRoute(range),
  );
  kernel.machine.request(
    linkUp(hostIndex),
    newAddress(plan.hostAddress, hostIndex),
    newNeighbour(plan.gateway, macOf("router", plan.gateway), hostIndex),
    newGatewayRoute(range, plan.gateway, hostIndex, plan.hostAddress),
  );
}

function ensurePair(kernel: Kernel, plan: Plan, mtu: number): { hostIndex: number; routerIndex: number } {
  const host = findLink(kernel.machine, plan.hostLink);
  const router = findLink(kernel.router, plan.routerUplink);
  if (host && router && router.peerIndex === host.index) {
    if (host.mtu !== mtu) kernel.machine.request(setLinkMtu(host.index, mtu));
    if (router.mtu !== mtu) kernel.router.request(setLinkMtu(router.index, mtu));
    return { hostIndex: host.index, routerIndex: router.index };
  }
  // An end without its peer belongs to a router that no longer exists.
  if (host) kernel.machine.request(deleteLink(plan.hostLink));
  if (router) kernel.router.request(deleteLink(plan.routerUplink));
  kernel.machine.request(
    newVethPair(
      { name: plan.hostLink, mac: macOf("host", plan.hostAddress), index: 0, flags: IFF.NOARP, group: plan.hostGroup },
      { name: plan.routerUplink, mac: macOf("router", plan.gateway), index: 0, flags: IFF.NOARP, group: 0 },
      mtu,
      kernel.namespace,
    ),
  );
  const made = { host: findLink(kernel.machine, plan.hostLink), router: findLink(kernel.router, plan.routerUplink) };
  if (!made.host || !made.router) throw new Error(`the pair ${plan.hostLink} vanished while it was made`);
  return { hostIndex: made.host.index, routerIndex: made.router.index };
}

/** Kernels that refused rules that report packets. */
const withoutReports = new WeakSet<Kernel>();

async function applyRouterRules(kernel: Kernel, plan: Plan, facts: MachineFacts, shares?: NetworkShares): Promise<void> {
  const { addresses, mostTracked } = facts;
  const apply = (reports: boolean) =>
    applyRules(kernel.routerFilter, routerRules(plan, addresses, mostTracked, { reports, ...(shares && { shares }) }), plan.namespaceFile);
  if (withoutReports.has(kernel)) return void (await apply(false));
  try {
    await apply(true);
  } catch (error) {
    if (!isAppError(error, "nft_failed")) throw error;
    await apply(false);
    withoutReports.add(kernel);
  }
}

/** Puts forwarding and both tables of rules in force for the machine's current facts. Changes only what differs. */
export async function ensureRules(
  kernel: Kernel,
  plan: Plan,
  forwarding: Forwarding,
  facts: MachineFacts,
  shares?: NetworkShares,
): Promise<void> {
  await applyRouterRules(kernel, plan, facts, shares);
  const opened = forwarding.open(facts.uplinks);
  await applyRules(kernel.machineFilter, machineRules(plan, opened));
}
