import { readFileSync } from "node:fs";
import { parseNetwork } from "./addresses.ts";
import { parseResolvConf } from "./dns/resolv-conf.ts";
import { assertNoOverlap, chooseFreeNetwork } from "./machine.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";

export interface NetworkChoice {
  /** BOXYARD_NETWORK: checked, then used or refused. */
  readonly wanted?: string;
  /** 8 hex digits: where the search begins, so that two data directories set up before either has a server seldom choose the same range. */
  readonly instance: string;
}

/**
 * The range of the sandboxes. Without `wanted` it is a free /16 of 10.208 to 10.223, or another one where a company's VPN holds all of
 * 10.0.0.0/8. Throws `failed_precondition`, reason `network_overlap`, or `invalid_argument`, reason `invalid_network`.
 */
export function chooseNetwork({ wanted, instance }: NetworkChoice): string {
  const netlink = new NetlinkSocket(NETLINK_ROUTE);
  try {
    const nameServers = machineNameServers();
    if (!wanted) return chooseFreeNetwork(netlink, nameServers, Number.parseInt(instance, 16));
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
