import { readFileSync } from "node:fs";
import { parseNetwork } from "./addresses.ts";
import { parseResolvConf } from "./dns/resolv-conf.ts";
import { assertNoOverlap, chooseFreeNetwork } from "./machine.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";

/**
 * For set-up: the range of the sandboxes. `wanted` (BOXYARD_NETWORK) is checked; without it the first free /16 of 10.208 to 10.223 is
 * taken, and others where a company's VPN holds all of 10.0.0.0/8. Throws `failed_precondition`, reason `network_overlap`, or
 * `invalid_argument`, reason `invalid_network`.
 */
export function chooseNetwork(wanted?: string): string {
  const netlink = new NetlinkSocket(NETLINK_ROUTE);
  try {
    const nameServers = machineNameServers();
    if (!wanted) return chooseFreeNetwork(netlink, nameServers);
    assertNoOverlap(netlink, parseNetwork(wanted), "", nameServers);
    return wanted;
  } finally {
    netlink.close();
  }
}

/** Name servers of the machine; none when there is no resolv.conf. */
export function machineNameServers(path = "/etc/resolv.conf"): string[] {
  try {
    return parseResolvConf(readFileSync(path, "utf8"));
  } catch {
    return [];
  }
}
