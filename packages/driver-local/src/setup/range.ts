import { existsSync, readdirSync } from "node:fs";
import { isSandboxId } from "@boxyard/core";
import { parseNetwork } from "../network/addresses.ts";
import { machineNameServers } from "../network/choose.ts";
import { chooseNetwork } from "../network/index.ts";
import { findOverlaps } from "../network/machine.ts";
import { NETLINK_ROUTE, NetlinkSocket } from "../network/netlink/socket.ts";
import { type InstanceFile, readInstance, writeInstance } from "./instance-file.ts";

/** Whether a data directory has sandboxes, whose addresses bind it to its range. */
export function hasSandboxes(dataDir: string): boolean {
  const directory = `${dataDir}/sandboxes`;
  return existsSync(directory) && readdirSync(directory).some(isSandboxId);
}

/** True when nothing on this machine but our own link uses the range. */
export function isRangeFree({ instance: name, network }: InstanceFile): boolean {
  const netlink = new NetlinkSocket(NETLINK_ROUTE);
  try {
    return findOverlaps(netlink, parseNetwork(network), `by${name}`, machineNameServers()).length === 0;
  } finally {
    netlink.close();
  }
}

/**
 * Another range for a data directory whose own is taken by now: by another data directory set up while neither had a server, by a VPN. Undefined,
 * and nothing changed, where sandboxes live by the old one.
 */
export function chooseRangeAgain(dataDir: string): InstanceFile | undefined {
  const before = readInstance(dataDir);
  if (!before || hasSandboxes(dataDir)) return undefined;
  const file = { ...before, network: chooseNetwork({ instance: before.instance }) };
  writeInstance(dataDir, file);
  return file;
}
