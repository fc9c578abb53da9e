import { BlockList, isIP, isIPv4 } from "node:net";
import { BLOCKED_NETWORKS } from "@boxyard/core";

/** IPv6 networks that are not of the public internet, or that contain an IPv4 address in a form that no registry needs (RFC 4291, 7915, 8215, 4193, 3056, 4380). */
const BLOCKED_IPV6 = [
  "::/96",
  "::ffff:0:0:0/96",
  "64:ff9b:1::/48",
  "100::/64",
  "2001::/32",
  "2002::/16",
  "fc00::/7",
  "fe80::/10",
  "fec0::/10",
  "ff00::/8",
];
/** IPv4 addresses inside of IPv6 addresses, as the URL parser writes them: mapped ones (RFC 4291, 2.5.5.2), and those of IPv6-only networks (RFC 6052). */
const IPV4_AT_END = /^\[(?:::ffff|64:ff9b:):([0-9a-f:]*)\]$/;

const blocked = listOf([...BLOCKED_NETWORKS, ...BLOCKED_IPV6]);

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    list.addSubnet(address, Number(bits), isIPv4(address) ? "ipv4" : "ipv6");
  }
  return list;
}

/** True for an address on the public internet; false for other addresses, and for text that is not an address. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 0) return false;
  if (version === 4) return !blocked.check(address, "ipv4");
  const plain = plainAddress(address);
  return isIPv4(plain) ? isPublicAddress(plain) : !blocked.check(plain, "ipv6");
}

/** The canonical spelling of an address; of an IPv4 address inside of an IPv6 one the IPv4 address. Text that is not an address is returned unchanged. */
export function plainAddress(address: string): string {
  if (isIP(address) !== 6 || address.includes("%")) return address;
  const { hostname } = new URL(`http://[${address}]`);
  const groups = IPV4_AT_END.exec(hostname)?.[1]?.split(":");
  if (groups === undefined || groups.length > 2) return hostname.slice(1, -1);
  const [high = 0, low = 0] = ["0", ...groups].slice(-2).map((group) => Number.parseInt(group || "0", 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
