import type { AttemptRule, NetworkAttempt } from "@boxyard/driver";
import { Message, parseAttributes, readText } from "../netlink/message.ts";
import type { NetlinkSocket } from "../netlink/socket.ts";
import { PACKET_GROUP } from "../rules.ts";

/*
 * The first bytes of packets that rules of the router report to a group of netfilter's (NFLOG). The kernel keeps a bounded number of them until they are
 * read, and the rules report a bounded number a second of each sandbox.
 */

const MSG_PACKET = 4 << 8;
const MSG_CONFIG = (4 << 8) | 1;
const CONFIG = { command: 1, mode: 2, flushAfter: 4 } as const;
const BIND = 1;
const COPY_PACKET = 2;
const COPIED_BYTES = 64;
/** Hundredths of a second after which the kernel sends what it has collected. */
const FLUSH_AFTER = 20;
const ATTRIBUTE = { payload: 9, prefix: 10 } as const;
const GENERIC_HEADER_BYTES = 4;
/** Datagrams that are read at a time: each may hold many packets. */
const MOST_READ = 64;

/** Asks the kernel to send the packets of the group to this socket. */
export function receivePackets(netlink: NetlinkSocket): void {
  const config = (label: string) => new Message(label, MSG_CONFIG, 0).bytes([0, 0, PACKET_GROUP >> 8, PACKET_GROUP & 255]);
  netlink.request(config("bind the group of packets").attr(CONFIG.command, [BIND]));
  netlink.request(
    config("set what is copied of packets")
      .attr(CONFIG.mode, [0, 0, 0, COPIED_BYTES, COPY_PACKET, 0])
      .attr(CONFIG.flushAfter, [0, 0, 0, FLUSH_AFTER]),
  );
}

export interface Packet extends Pick<NetworkAttempt, "protocol" | "isAllowed" | "rule" | "port"> {
  readonly from: string;
  readonly address: string;
}

/** What has come since the last call. */
export function readPackets(netlink: NetlinkSocket): Packet[] {
  return netlink.events(MOST_READ).flatMap(({ type, body }) => {
    if (type !== MSG_PACKET) return [];
    const attributes = parseAttributes(body, GENERIC_HEADER_BYTES);
    const packet = parsePacket(attributes.get(ATTRIBUTE.payload) ?? new Uint8Array(0));
    const rule = readText(attributes.get(ATTRIBUTE.prefix)) as AttemptRule;
    return packet ? [{ ...packet, rule, isAllowed: rule === "allowed" }] : [];
  });
}

const PROTOCOLS: Readonly<Record<number, NetworkAttempt["protocol"]>> = { 1: "icmp", 6: "tcp", 17: "udp" };

/** The head of an IPv4 packet; undefined for less than one. */
export function parsePacket(bytes: Uint8Array): Pick<Packet, "from" | "address" | "protocol" | "port"> | undefined {
  const headBytes = ((bytes[0] ?? 0) & 15) * 4;
  if (bytes.length < 20 || headBytes < 20 || (bytes[0] ?? 0) >> 4 !== 4) return undefined;
  const protocol = PROTOCOLS[bytes[9] ?? 0] ?? "other";
  const addressAt = (at: number) => bytes.subarray(at, at + 4).join(".");
  const hasPort = (protocol === "tcp" || protocol === "udp") && bytes.length >= headBytes + 4;
  const port = ((bytes[headBytes + 2] ?? 0) << 8) | (bytes[headBytes + 3] ?? 0);
  return { from: addressAt(12), address: addressAt(16), protocol, ...(hasPort && { port }) };
}
