import { readFileSync } from "node:fs";
import { parseNetwork } from "./addresses.ts";
import { claimRange } from "./claims.ts";
import { parseResolvConf } from "./dns/resolv-conf.ts";
import { assertNoOverlap, chooseFreeNetwork } from "./machine.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";

export interface NetworkChoice {
  /** BOXYARD_NETWORK: checked, then used or refused. */
  readonly wanted?: string;
  /** 8 hex digits: where the search begins. */
  readonly instance: string;
  /** The data directory, for which the range is claimed. */
  readonly dataDir: string;
  /** Where claims are; default `/run/boxyard`. */
  readonly runDirectory?: string;
}

/**
 * Chooses the range of the sandboxes and claims it for the data directory. Without `wanted` it is a /16 of 10.208 to 10.223 that is free and that no
 * other data directory has claimed, or another one where a company's VPN holds all of 10.0.0.0/8. What the operator wants (`wanted`) is not refused
 * because of a claim: the other data directory may never have a server again. Throws `failed_precondition`, reason `network_overlap`, or
 * `invalid_argument`, reason `invalid_network`.
 */
export function chooseNetwork({ wanted, instance, dataDir, runDirectory }: NetworkChoice): Promise<string> {
  return claimRange(
    dataDir,
    (others) => {
      const netlink = new NetlinkSocket(NETLINK_ROUTE);
      try {
        const nameServers = machineNameServers();
        if (!wanted) return chooseFreeNetwork(netlink, nameServers, Number.parseInt(instance, 16), others);
        assertNoOverlap(netlink, parseNetwork(wanted), "", nameServers);
        return wanted;
      } finally {
        netlink.close();
      }
    },
    runDirectory,
  );
}

/** Name servers of the machine; none when there is no resolv.conf. */
export function machineNameServers(path = "/etc/resolv.conf"): string[] {
  try {
    return parseResolvConf(readFileSync(path, "utf8"));
  } catch {
    return [];
  }
}
