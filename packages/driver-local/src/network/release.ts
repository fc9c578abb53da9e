import { rmdirSync } from "node:fs";
import type { Logger } from "@boxyard/core/node";
import { close, hasErrno, inNetworkNamespace } from "../sys/libc.ts";
import { Forwarding } from "./forwarding.ts";
import { deleteLink, deleteLinkGroup, listLinks } from "./netlink/route.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";
import { deleteTable } from "./nft.ts";
import { GROUP, makePlan, type Plan } from "./plan.ts";
import { dropNamespace, openNamespace } from "./router-namespace.ts";
import { RUN_DIRECTORY } from "./run-directory.ts";
import { ensureSysctl } from "./sysctl.ts";

export interface ReleaseConfig {
  readonly instance: string;
  readonly network: string;
  readonly logger: Logger;
  readonly runDirectory?: string;
}

/**
 * Removes everything of an instance's network from the machine: sandboxes' links, router, link, rules, and (as the last instance) forwarding.
 * Needs no open network. Repeatable: succeeds also when nothing is left, or only a part.
 */
export async function releaseNetwork(config: ReleaseConfig): Promise<void> {
  const runDirectory = config.runDirectory ?? RUN_DIRECTORY;
  const plan = makePlan({ instance: config.instance, network: config.network, runDirectory });
  emptyRouter(plan);
  const netlink = new NetlinkSocket(NETLINK_ROUTE);
  try {
    netlink.request(deleteLink(plan.hostLink));
    dropNamespace(plan.namespaceFile);
    await deleteTable(plan.table);
    if (!listLinks(netlink).some((link) => link.group === plan.hostGroup)) new Forwarding(runDirectory).restore();
  } finally {
    netlink.close();
  }
  removeDirectory(runDirectory);
}

/** Deletes the links themselves: another mount namespace may keep the router's network namespace alive, which must be harmless then. */
function emptyRouter(plan: Plan): void {
  const namespace = openNamespace(plan.namespaceFile);
  if (namespace === undefined) return;
  try {
    const router = inNetworkNamespace(namespace, () => {
      ensureSysctl("ipv4/ip_forward", "0");
      return new NetlinkSocket(NETLINK_ROUTE);
    });
    for (const group of Object.values(GROUP)) router.request(deleteLinkGroup(group));
    router.close();
  } finally {
    close(namespace);
  }
}

function removeDirectory(directory: string): void {
  try {
    rmdirSync(directory);
  } catch (error) {
    // Another instance uses the directory, or it was never made.
    if (!hasErrno(error, "ENOTEMPTY", "ENOENT")) throw error;
  }
}
