import { hasErrno } from "../../sys/libc.ts";
import { type Address, formatAddress } from "../addresses.ts";
import { Message, NLM_F, parseAttributes, readText, readU32, readU64, u32 } from "./message.ts";
import type { NetlinkSocket } from "./socket.ts";

/** The messages of rtnetlink that we need: links, addresses, routes, neighbours (man 7 rtnetlink; numbers of include/uapi/linux). */

const RTM = {
  NEWLINK: 16,
  DELLINK: 17,
  GETLINK: 18,
  SETLINK: 19,
  NEWADDR: 20,
  GETADDR: 22,
  NEWROUTE: 24,
  DELROUTE: 25,
  GETROUTE: 26,
  NEWNEIGH: 28,
} as const;
const AF_INET = 2;
const IFLA = {
  ADDRESS: 1,
  IFNAME: 3,
  MTU: 4,
  LINK: 5,
  LINKINFO: 18,
  STATS64: 23,
  GROUP: 27,
  NET_NS_FD: 28,
  NUM_TX_QUEUES: 31,
  NUM_RX_QUEUES: 32,
} as const;
const IFLA_INFO = { KIND: 1, DATA: 2 } as const;
const VETH_INFO_PEER = 1;
const IFA = { ADDRESS: 1, LOCAL: 2 } as const;
const RTA = { DST: 1, OIF: 4, GATEWAY: 5, PREFSRC: 7, MULTIPATH: 9 } as const;
const NDA = { DST: 1, LLADDR: 2 } as const;
const NUD_PERMANENT = 0x80;
const RT_TABLE_MAIN = 254;
const RTPROT_STATIC = 4;
const RT_SCOPE = { UNIVERSE: 0, LINK: 253 } as const;
const RTN = { UNICAST: 1, UNREACHABLE: 7 } as const;
const RTNH_F_ONLINK = 4;

export const IFF = { UP: 0x1, NOARP: 0x80 } as const;

const octets = (address: Address): number[] => [address >>> 24, (address >>> 16) & 255, (address >>> 8) & 255, address & 255];

function linkHeader(index: number, flags: number): number[] {
  return [0, 0, 0, 0, ...u32(index), ...u32(flags), ...u32(flags)];
}

export interface LinkEnd {
  readonly name: string;
  readonly mac: Uint8Array;
  /** 0: the kernel chooses. */
  readonly index: number;
  /** IFF flags to set. */
  readonly flags: number;
  readonly group: number;
}

function fillEnd(message: Message, end: LinkEnd, mtu: number): void {
  message
    .attrText(IFLA.IFNAME, end.name)
    .attr(IFLA.ADDRESS, end.mac)
    .attrU32(IFLA.MTU, mtu)
    .attrU32(IFLA.GROUP, end.group)
    // One queue each: the default is one for every core that the machine could have, which 4,000 sandboxes would multiply.
    .attrU32(IFLA.NUM_TX_QUEUES, 1)
    .attrU32(IFLA.NUM_RX_QUEUES, 1);
}

/** Makes a pair of links: `near` in the socket's namespace, `far` in the namespace of the descriptor `farNamespace`. */
export function newVethPair(near: LinkEnd, far: LinkEnd, mtu: number, farNamespace: number): Message {
  const message = new Message(`add link ${near.name}`, RTM.NEWLINK, NLM_F.CREATE | NLM_F.EXCL).bytes(linkHeader(near.index, near.flags));
  fillEnd(message, near, mtu);
  return message.nest(IFLA.LINKINFO, (info) => {
    info.attrText(IFLA_INFO.KIND, "veth");
    info.nest(IFLA_INFO.DATA, (data) => {
      data.nest(VETH_INFO_PEER, (peer) => {
        peer.bytes(linkHeader(far.index, far.flags));
        fillEnd(peer, far, mtu);
        peer.attrU32(IFLA.NET_NS_FD, farNamespace);
      });
    });
  });
}

export function linkUp(index: number): Message {
  return new Message(`set link ${index} up`, RTM.SETLINK, 0).bytes(linkHeader(index, IFF.UP));
}

export function setLinkMtu(index: number, mtu: number): Message {
  return new Message(`set mtu of link ${index}`, RTM.SETLINK, 0).bytes(linkHeader(index, 0)).attrU32(IFLA.MTU, mtu);
}

export function setLinkGroup(index: number, group: number): Message {
  return new Message(`set group of link ${index}`, RTM.SETLINK, 0, ["ENODEV"]).bytes(linkHeader(index, 0)).attrU32(IFLA.GROUP, group);
}

export function deleteLink(name: string): Message {
  return new Message(`delete link ${name}`, RTM.DELLINK, 0, ["ENODEV"]).bytes(linkHeader(0, 0)).attrText(IFLA.IFNAME, name);
}

/** Deletes all links of a group in one request: the kernel waits one grace period for all of them, not one for each. */
export function deleteLinkGroup(group: number): Message {
  return new Message(`delete link group ${group}`, RTM.DELLINK, 0, ["ENODEV"]).bytes(linkHeader(0, 0)).attrU32(IFLA.GROUP, group);
}

/** Puts `address`/32 on a link; fine when it is there. */
export function newAddress(address: Address, index: number): Message {
  return new Message(`add address ${formatAddress(address)}`, RTM.NEWADDR, NLM_F.CREATE | NLM_F.REPLACE)
    .bytes([AF_INET, 32, 0, RT_SCOPE.UNIVERSE, ...u32(index)])
    .attr(IFA.LOCAL, octets(address))
    .attr(IFA.ADDRESS, octets(address));
}

function route(
  label: string,
  type: number,
  flags: number,
  to: { destination: Address; prefix: number },
  kind: number,
  scope: number,
  nexthop = 0,
) {
  return new Message(label, type, flags, type === RTM.DELROUTE ? ["ESRCH"] : [])
    .bytes([AF_INET, to.prefix, 0, 0, RT_TABLE_MAIN, type === RTM.DELROUTE ? 0 : RTPROT_STATIC, scope, kind, ...u32(nexthop)])
    .attr(RTA.DST, octets(to.destination));
}

/** A route to one address directly on a link. */
export function newLinkRoute(destination: Address, index: number): Message {
  const label = `add route to ${formatAddress(destination)}`;
  return route(label, RTM.NEWROUTE, NLM_F.CREATE | NLM_F.REPLACE, { destination, prefix: 32 }, RTN.UNICAST, RT_SCOPE.LINK).attrU32(
    RTA.OIF,
    index,
  );
}

/** Deletes the route to one address, whatever link it points to; fine when there is none. */
export function deleteLinkRoute(destination: Address): Message {
  return route(`delete route to ${formatAddress(destination)}`, RTM.DELROUTE, 0, { destination, prefix: 32 }, RTN.UNICAST, RT_SCOPE.LINK);
}

/** A route through a neighbour on the link, whatever the neighbour's address; `source` is the source address of the machine's own packets. */
export function newGatewayRoute(to: { destination: Address; prefix: number }, gateway: Address, index: number, source?: Address): Message {
  const label = `add route to ${formatAddress(to.destination)}/${to.prefix}`;
  const message = route(label, RTM.NEWROUTE, NLM_F.CREATE | NLM_F.REPLACE, to, RTN.UNICAST, RT_SCOPE.UNIVERSE, RTNH_F_ONLINK)
    .attr(RTA.GATEWAY, octets(gateway))
    .attrU32(RTA.OIF, index);
  return source === undefined ? message : message.attr(RTA.PREFSRC, octets(source));
}

/** A route that answers "unreachable" for addresses without a more specific route. */
export function newUnreachableRoute(to: { destination: Address; prefix: number }): Message {
  const label = `add unreachable route ${formatAddress(to.destination)}/${to.prefix}`;
  return route(label, RTM.NEWROUTE, NLM_F.CREATE | NLM_F.REPLACE, to, RTN.UNREACHABLE, RT_SCOPE.UNIVERSE);
}

/** Ties an address to a hardware address permanently: no ARP request is sent, and the entry is exempt from the machine-wide limit of 1,024. */
export function newNeighbour(address: Address, mac: Uint8Array, index: number): Message {
  return new Message(`add neighbour ${formatAddress(address)}`, RTM.NEWNEIGH, NLM_F.CREATE | NLM_F.REPLACE)
    .bytes([AF_INET, 0, 0, 0, ...u32(index), NUD_PERMANENT, 0, 0, 0])
    .attr(NDA.DST, octets(address))
    .attr(NDA.LLADDR, mac);
}

export interface Link {
  readonly index: number;
  readonly name: string;
  readonly mtu: number;
  readonly group: number;
  /** Index of the other end of a veth, in the namespace of that end. */
  readonly peerIndex: number | undefined;
  /** Bytes that came in by this end, and that went out. */
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

function parseLink(body: Uint8Array): Link {
  const attributes = parseAttributes(body, 16);
  return {
    index: readU32(body.subarray(4)) ?? 0,
    name: readText(attributes.get(IFLA.IFNAME)),
    mtu: readU32(attributes.get(IFLA.MTU)) ?? 1500,
    group: readU32(attributes.get(IFLA.GROUP)) ?? 0,
    peerIndex: readU32(attributes.get(IFLA.LINK)),
    // `struct rtnl_link_stats64` begins with packets in, packets out, bytes in, bytes out.
    receivedBytes: readU64(attributes.get(IFLA.STATS64)?.subarray(16)) ?? 0,
    sentBytes: readU64(attributes.get(IFLA.STATS64)?.subarray(24)) ?? 0,
  };
}

export function findLink(netlink: NetlinkSocket, by: string | number): Link | undefined {
  const message = new Message(`find link ${by}`, RTM.GETLINK, 0).bytes(linkHeader(typeof by === "number" ? by : 0, 0));
  if (typeof by === "string") message.attrText(IFLA.IFNAME, by);
  try {
    const [reply] = netlink.query(message);
    return reply && parseLink(reply.body);
  } catch (error) {
    if (hasErrno(error, "ENODEV")) return undefined;
    throw error;
  }
}

export function listLinks(netlink: NetlinkSocket): Link[] {
  return netlink.query(new Message("list links", RTM.GETLINK, NLM_F.DUMP).bytes(linkHeader(0, 0))).map((r) => parseLink(r.body));
}

export interface Prefix {
  readonly destination: Address;
  readonly prefix: number;
  readonly index: number;
}

/** Every unicast route of every table, default routes included; one entry for each next hop. `index` 0 where a route names no link. */
export function listRoutes(netlink: NetlinkSocket): Prefix[] {
  const routes: Prefix[] = [];
  const dump = new Message("list routes", RTM.GETROUTE, NLM_F.DUMP).bytes([AF_INET, 0, 0, 0, 0, 0, 0, 0, ...u32(0)]);
  for (const { body } of netlink.query(dump)) {
    if (body[0] !== AF_INET || body[7] !== RTN.UNICAST) continue;
    const attributes = parseAttributes(body, 12);
    const to = { destination: readAddress(attributes.get(RTA.DST)), prefix: body[1] ?? 0 };
    const multipath = attributes.get(RTA.MULTIPATH);
    const indexes = multipath ? nextHops(multipath) : [readU32(attributes.get(RTA.OIF)) ?? 0];
    for (const index of indexes) routes.push({ ...to, index });
  }
  return routes;
}

/** Link indexes of a list of `struct rtnexthop` (length, flags, hops, index, attributes). */
function nextHops(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const indexes: number[] = [];
  for (let at = 0; at + 8 <= bytes.length; ) {
    const length = view.getUint16(at, true);
    if (length < 8) break;
    indexes.push(view.getUint32(at + 4, true));
    at += (length + 3) & ~3;
  }
  return indexes;
}

/** Addresses of the machine with the networks they are in. */
export function listAddresses(netlink: NetlinkSocket): (Prefix & { readonly address: Address })[] {
  const dump = new Message("list addresses", RTM.GETADDR, NLM_F.DUMP).bytes([AF_INET, 0, 0, 0, ...u32(0)]);
  return netlink
    .query(dump)
    .filter(({ body }) => body[0] === AF_INET)
    .map(({ body }) => {
      const attributes = parseAttributes(body, 8);
      const address = readAddress(attributes.get(IFA.LOCAL) ?? attributes.get(IFA.ADDRESS));
      return {
        address,
        destination: readAddress(attributes.get(IFA.ADDRESS)),
        prefix: body[1] ?? 32,
        index: readU32(body.subarray(4)) ?? 0,
      };
    });
}

/** Index of the link by which the machine would reach an address; undefined when it has no route. Sends nothing. */
export function linkTowards(netlink: NetlinkSocket, address: Address): number | undefined {
  const message = new Message(`route to ${formatAddress(address)}`, RTM.GETROUTE, 0)
    .bytes([AF_INET, 32, 0, 0, 0, 0, 0, 0, ...u32(0)])
    .attr(RTA.DST, octets(address));
  try {
    const [reply] = netlink.query(message);
    return reply && readU32(parseAttributes(reply.body, 12).get(RTA.OIF));
  } catch (error) {
    if (hasErrno(error, "ENETUNREACH", "EHOSTUNREACH", "EACCES", "EINVAL")) return undefined;
    throw error;
  }
}

function readAddress(bytes: Uint8Array | undefined): Address {
  if (bytes?.length !== 4) return 0;
  return new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0);
}
