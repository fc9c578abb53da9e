import { fromErrno } from "@boxyard/core/node";
import type { EgressPolicy } from "@boxyard/driver";
import { close, inNetworkNamespace, O, open } from "../sys/libc.ts";
import type { Address } from "./addresses.ts";
import { IFF, linkUp, newAddress, newGatewayRoute, newLinkRoute, newNeighbour, newVethPair } from "./netlink/route.ts";
import { settleLink } from "./netlink/settle.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";
import { groupFor, leaseIndex, leaseLink, macOf, type Plan } from "./plan.ts";
import type { Kernel } from "./router.ts";
import { writeSysctl } from "./sysctl.ts";

/**
 * Name and index of a sandbox's link, in the sandbox. The index is known beforehand, as one batch makes the link and uses it; and high,
 * because the low ones are taken in every new namespace where modules such as `ipip` or `sit` are loaded (they put their own links there).
 */
const SANDBOX_LINK = "eth0";
const SANDBOX_INDEX = 1000;
const LOOPBACK_INDEX = 1;

/**
 * Joins the network namespace of process `pid` to the router: a link of its own, the lease's address, the gateway as the only way out,
 * hardware addresses tied to addresses on both sides so that no ARP is ever asked or answered (what a sandbox claims by ARP is not heard;
 * and a neighbour that is being looked for would take a place in a table of the whole machine's).
 * Two batches of netlink messages, all within this tick: 0.5 ms.
 */
export function plug(kernel: Kernel, plan: Plan, lease: { address: Address; pid: number; mtu: number; egress: EgressPolicy }): void {
  const { address, pid, mtu } = lease;
  const namespace = openNamespaceOf(pid);
  let inside: NetlinkSocket | undefined;
  try {
    inside = inNetworkNamespace(namespace, () => {
      // First of all: no link of the sandbox ever has an IPv6 address; but ::1 is there, which programs take for localhost.
      writeSysctl("ipv6/conf/all/disable_ipv6", "1");
      writeSysctl("ipv6/conf/default/disable_ipv6", "1");
      writeSysctl("ipv6/conf/lo/disable_ipv6", "0");
      return new NetlinkSocket(NETLINK_ROUTE);
    });
    const index = leaseIndex(plan, address);
    const group = groupFor(lease.egress);
    kernel.router.request(
      newVethPair(
        { name: leaseLink(address), mac: macOf("router", address), index, flags: IFF.UP | IFF.NOARP, group },
        { name: SANDBOX_LINK, mac: macOf("sandbox", address), index: SANDBOX_INDEX, flags: IFF.NOARP, group: 0 },
        mtu,
        namespace,
      ),
    );
    kernel.router.request(newNeighbour(address, macOf("sandbox", address), index), newLinkRoute(address, index));
    inside.request(
      linkUp(LOOPBACK_INDEX),
      linkUp(SANDBOX_INDEX),
      newAddress(address, SANDBOX_INDEX),
      newNeighbour(plan.gateway, macOf("router", address), SANDBOX_INDEX),
      newGatewayRoute({ destination: 0, prefix: 0 }, plan.gateway, SANDBOX_INDEX),
    );
    inNetworkNamespace(kernel.namespace, () => settleLink(leaseLink(address)));
    inNetworkNamespace(namespace, () => settleLink(SANDBOX_LINK));
  } catch (error) {
    throw fromErrno(`plug process ${pid} into the network`, error);
  } finally {
    inside?.close();
    close(namespace);
  }
}

function openNamespaceOf(pid: number): number {
  try {
    return open(`/proc/${pid}/ns/net`, O.RDONLY);
  } catch (error) {
    throw fromErrno(`find the network namespace of process ${pid}`, error);
  }
}
