import { chmodSync } from "node:fs";
import { AppError, systemClock, wrapError } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { SandboxNetworks } from "../parts.ts";
import { hasErrno } from "../sys/libc.ts";
import { formatAddress } from "./addresses.ts";
import { ResolvConf } from "./dns/resolv-conf.ts";
import { EdgeAuthority } from "./edge-authority/authority.ts";
import { Forwarding } from "./forwarding.ts";
import { assertNoOverlap, readMachine } from "./machine.ts";
import { findLink, listAddresses } from "./netlink/route.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "./netlink/socket.ts";
import { Networks } from "./networks.ts";
import type { NetworksConfig } from "./networks-config.ts";
import { makePlan, type Plan } from "./plan.ts";
import { releaseNetwork } from "./release.ts";
import { closeKernel, ensureRules, ensureUplink, openKernel } from "./router.ts";
import { RUN_DIRECTORY } from "./run-directory.ts";

const RESOLV_CONF = "/etc/resolv.conf";

/**
 * Opens the network of the sandboxes: router namespace, link, rules and name server. Each is made where it is missing, and not touched where
 * it is correct (when all are, this takes a few ms and starts no process). Sandboxes of an earlier process go on undisturbed; call `adopt`
 * with their leases.
 *
 * Errors: `failed_precondition` with reason `network_overlap` (the range is in use on the machine), `tool_missing` (no nftables) or
 * `already_open` (another server has this instance's network).
 */
export async function openNetwork(config: NetworksConfig): Promise<SandboxNetworks> {
  const clock = config.clock ?? systemClock;
  const runDirectory = config.runDirectory ?? RUN_DIRECTORY;
  const plan = makePlan({ instance: config.instance, network: config.network, runDirectory });
  const resolvConf = new ResolvConf(config.resolvConf ?? RESOLV_CONF, () => clock.monotonic());
  const found = checkRange(plan, resolvConf.current(), config.logger);
  // The range was changed: nothing of the old range may stay.
  if (found === "other_range")
    await releaseNetwork({ instance: config.instance, network: config.network, logger: config.logger, runDirectory });
  const kernel = openKernel(plan);
  // In an earlier version the machine's users could read this directory.
  chmodSync(runDirectory, 0o700);
  try {
    const facts = readMachine(kernel.machine, plan.hostGroup, config.mostTracked);
    ensureUplink(kernel, plan, facts.mtu);
    const forwarding = new Forwarding(runDirectory);
    await ensureRules(kernel, plan, forwarding, facts, config.shares);
    const authority = await EdgeAuthority.open(config.stateDirectory, `Boxyard sandboxes ${config.instance}`, () => clock.now());
    const networks = new Networks({ config, plan, kernel, clock, forwarding, facts, resolvConf, authority });
    await networks.open();
    return networks;
  } catch (error) {
    closeKernel(kernel);
    if (hasErrno(error, "EADDRINUSE")) {
      const message = `Another Boxyard server runs on this data directory: ${formatAddress(plan.gateway)}:53 of its network is taken`;
      throw new AppError("failed_precondition", message, { reason: "already_open", cause: error });
    }
    throw wrapError("open the network of the sandboxes", error);
  }
}

/** An overlap makes the first opening fail. Later openings only warn, because sandboxes may exist, which a new VPN must not end. */
function checkRange(plan: Plan, nameServers: readonly string[], logger: Logger): "new" | "there" | "other_range" {
  const netlink = new NetlinkSocket(NETLINK_ROUTE);
  const link = findLink(netlink, plan.hostLink);
  const isOurs = listAddresses(netlink).every((entry) => entry.index !== link?.index || entry.address === plan.hostAddress);
  const found = !link ? "new" : isOurs ? "there" : "other_range";
  try {
    assertNoOverlap(netlink, plan.network, plan.hostLink, nameServers);
    return found;
  } catch (error) {
    if (found !== "there") throw error;
    logger.warn({ err: error }, "the sandboxes' network overlaps another");
    return found;
  } finally {
    netlink.close();
  }
}
