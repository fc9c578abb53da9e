import { join } from "node:path";
import type { ResourceStats } from "@boxyard/driver";
import { readStats } from "../cgroup/stats.ts";
import { writeFact } from "../figures/write-fact.ts";
import type { LocalSandboxRecord } from "../state/record.ts";
import { cgroupOf, type LocalParts } from "./parts.ts";

/** Size of the file with the disk's account. Always the same, so that it is written in one piece over the one before. */
const DISK_BYTES = 40;

/** What a sandbox uses, by the kernel's accounts. Fails with the kernel's own error, or `not_found`, when the sandbox ends meanwhile. */
export async function readAccount(
  parts: LocalParts,
  { sandboxId: id, resources, lease, diskBaseBytes = 0 }: LocalSandboxRecord,
): Promise<ResourceStats> {
  const counted = readStats(cgroupOf(parts, id));
  const usedBytes = (await parts.storage.usage(id)).usedBytes + diskBaseBytes;
  // The agent cannot read the disk's account inside: it finds it in this file.
  writeFact(join(parts.paths.hostFacts(id), "disk.json"), JSON.stringify({ usedBytes }).padEnd(DISK_BYTES));
  const { receivedBytes: networkReceivedBytes, sentBytes: networkSentBytes } = parts.networks.traffic(lease);
  const network = { networkReceivedBytes, networkSentBytes };
  return { ...counted, ...network, memoryLimitBytes: resources.memoryBytes, diskUsedBytes: usedBytes, diskLimitBytes: resources.diskBytes };
}
