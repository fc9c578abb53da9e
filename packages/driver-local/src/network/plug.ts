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
 * Name and index of a sandbox's link, in the sandbox. The index is fixed, because one batch makes the link and uses it. It is high, because
 * modules such as `ipip` or `sit`, where they are loaded, put their own links into every new namespace, with low indexes.
 */
const SANDBOX_LINK = "eth0";
const SANDBOX_INDEX = 1000;
const LOOPBACK_INDEX = 1;
/**
 * What a socket may hold of options, and of control data while it is sent: memory that is charged to no cgroup. Recent kernels allow 128 KiB. Enough
 * for the 253 descriptors that the kernel takes at a time.
 */
const OPTION_BYTES = 20_480;

/**
 * Joins the network namespace of process `pid` to the router: its own link, the lease's address, the gateway as its only route, and hardware
 * addresses tied to addresses on both sides, so that no ARP request is sent or answered. (Forged ARP messages of a sandbox have no effect, and
 * no pending neighbour takes a place in the machine-wide table.) Synchronous, three batches of netlink messages: 0.5 ms.
 */
export function plug(kernel: Kernel, plan: Plan, lease: { address: Address; pid: number; mtu: number; egress: EgressPolicy }): void {
  const { address, pid, mtu } = lease;
  const namespace = openNamespaceOf(pid);
  let inside: NetlinkSocket | undefined;
  try {
    inside = inNetworkNamespace(namespace, () => {
      // Before any link comes up: no link of the sandbox gets an IPv6 address, except ::1, which programs use as localhost.
      writeSysctl("ipv6/conf/all/disable_ipv6", "1");
      writeSysctl("ipv6/conf/default/disable_ipv6", "1");
      writeSysctl("ipv6/conf/lo/disable_ipv6", "0");
      // Older kernels have one value for all namespaces, which is this one.
      writeSysctl("core/optmem_max", String(OPTION_BYTES));
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
