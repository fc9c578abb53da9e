import { existsSync, readdirSync } from "node:fs";
import { isSandboxId } from "@boxyard/core";
import { parseNetwork } from "../network/addresses.ts";
import { machineNameServers } from "../network/choose.ts";
import { chooseNetwork } from "../network/index.ts";
import { findOverlaps } from "../network/machine.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "../network/netlink/socket.ts";
import { type InstanceFile, readInstance, writeInstance } from "./instance-file.ts";

/** True when a data directory has sandboxes: their addresses are in its range, so the range must stay. */
export function hasSandboxes(dataDir: string): boolean {
  const directory = `${dataDir}/sandboxes`;
  return existsSync(directory) && readdirSync(directory).some(isSandboxId);
}

/** True when nothing on this machine uses the range, except the instance's own link. */
export function isRangeFree({ instance: name, network }: InstanceFile): boolean {
  const netlink = new NetlinkSocket(NETLINK_ROUTE);
  try {
    return findOverlaps(netlink, parseNetwork(network), `by${name}`, machineNameServers()).length === 0;
  } finally {
    netlink.close();
  }
}

/**
 * Chooses another range for a data directory whose range is in use by now: by a VPN, or by another data directory that was set up while neither had
 * a server. Undefined when the data directory has sandboxes; then nothing is changed.
 */
export async function chooseRangeAgain(dataDir: string): Promise<InstanceFile | undefined> {
  const before = readInstance(dataDir);
  if (!before || hasSandboxes(dataDir)) return undefined;
  const file = { ...before, network: await chooseNetwork({ instance: before.instance, dataDir }) };
  writeInstance(dataDir, file);
  return file;
}

/**
 * A free range with which the sandboxes of a data directory can be ended although its own is in use by others; they need no addresses for that. It
 * is not written down: sandboxes that are left keep their range.
 */
export async function rangeForEnding(dataDir: string): Promise<InstanceFile | undefined> {
  const before = readInstance(dataDir);
  return before && { ...before, network: await chooseNetwork({ instance: before.instance, dataDir }) };
}
