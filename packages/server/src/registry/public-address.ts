import { BlockList, isIP, isIPv4 } from "node:net";
import { BLOCKED_NETWORKS } from "@boxyard/core";

/** IPv6 networks that are not the public internet's, or that carry an IPv4 address in a form that nobody needs (RFC 4291, 4193, 3056, 4380). */
const BLOCKED_IPV6 = ["::/96", "100::/64", "2001::/32", "2002::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"];
/** Where IPv6-only networks show the IPv4 internet (RFC 6052): as the address at its end. */
const NAT64 = "64:ff9b::/96";

const blocked = listOf([...BLOCKED_NETWORKS, ...BLOCKED_IPV6]);
const nat64 = listOf([NAT64]);

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    list.addSubnet(address, Number(bits), isIPv4(address) ? "ipv4" : "ipv6");
  }
  return list;
}

/** True for an address on the public internet; false for anything else, also what is no address. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 0) return false;
  if (version === 4) return !blocked.check(address, "ipv4");
  if (nat64.check(address, "ipv6")) return isPublicAddress(embedded(address));
  return !blocked.check(address, "ipv6");
}

/** The IPv4 address in the last 32 bits. */
function embedded(address: string): string {
  // Written out by the URL parser: without dots, the last two groups always there unless they are 0.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split(":");
  const [high = 0, low = 0] = groups.slice(-2).map((group) => Number.parseInt(group || "0", 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
