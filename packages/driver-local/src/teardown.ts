import { rm } from "node:fs/promises";
import type { SandboxId } from "@boxyard/core";
import { cgroupOf, type LocalParts } from "./sandbox.ts";
import { readRecord, type SandboxRecord } from "./state/record.ts";

/** The removals that a sandbox is taken apart with. Each is repeatable and is also the undo of a step. */

export async function removeProcesses(parts: LocalParts, id: SandboxId): Promise<void> {
  await cgroupOf(parts, id).killAndWait();
  await parts.runtime.forget(id);
}

export async function removeCgroup(parts: LocalParts, id: SandboxId): Promise<void> {
  await cgroupOf(parts, id).remove();
}

/** The folder goes last: until then the sandbox is listed. Only then may another sandbox have its user ids. */
async function removeFolder(parts: LocalParts, id: SandboxId, record: SandboxRecord | undefined): Promise<void> {
  // A sample of its statistics may just be written.
  await rm(parts.paths.sandbox(id), { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
  if (record) parts.uidRanges.giveBack(record.uidBase);
}

/** Removes every trace of a sandbox, half-made or whole, from what is on the machine alone. */
export async function removeSandbox(parts: LocalParts, id: SandboxId): Promise<void> {
  const record = readRecord(parts.paths.state(id));
  await removeProcesses(parts, id);
  // No order between these three; each is done even when another fails, and the folder stays until all are.
  const results = await Promise.allSettled([
    removeCgroup(parts, id),
    record ? parts.networks.detach(record.lease) : undefined,
    parts.storage.destroyVolume(id),
  ]);
  for (const result of results) if (result.status === "rejected") throw result.reason;
  await removeFolder(parts, id, record);
}
