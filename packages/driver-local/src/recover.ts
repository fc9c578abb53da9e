import { readdirSync } from "node:fs";
import { isSandboxId, type SandboxId } from "@boxyard/core";
import { Generations } from "./checkpoint/generation.ts";
import type { LocalParts } from "./sandbox.ts";
import type { DataPaths } from "./state/paths.ts";
import { readRecord, type SandboxRecord } from "./state/record.ts";

/**
 * Makes the sandboxes that an earlier process left known to the parts that hand things out, so that no address and no user id is given
 * twice. Judges nothing: which of them live on and which go is the server's to say, by `recover` and `destroy`.
 */
export function adoptSandboxes(parts: LocalParts, ids: readonly SandboxId[]): void {
  const records = ids.flatMap((id) => readRecord(parts.paths.state(id)) ?? []);
  parts.figures?.adopt(records);
  parts.uidRanges.adopt(records.map((record) => record.uidBase));
  // A paused one has given its address back.
  parts.networks.adopt(records.filter((record) => !isPaused(parts, record)).map((record) => record.lease));
}

/** A whole generation of this very incarnation is there: whatever still runs of it is a remainder. */
export function isPaused(parts: LocalParts, record: SandboxRecord): boolean {
  return new Generations(parts.storage.generationsRoot, record.sandboxId).whole()?.incarnation === record.incarnation;
}

/** Ids of the sandboxes of which anything is left, wherever it is. */
export async function sandboxesOnMachine({ cgroups, paths, storage }: LocalParts): Promise<SandboxId[]> {
  const ids = new Set<SandboxId>(cgroups.list());
  for (const name of [...readdirSync(paths.sandboxes), ...(await storage.listVolumes())]) if (isSandboxId(name)) ids.add(name);
  return [...ids].sort();
}

/** Ids of the sandboxes that stand on a layer. One whose record does not say what it stands on may stand on any. */
export function sandboxesOn(paths: DataPaths, digest: string): SandboxId[] {
  return readdirSync(paths.sandboxes)
    .filter(isSandboxId)
    .filter((id) => {
      const record = readRecord(paths.state(id));
      return record !== undefined && (record.layers?.includes(digest) ?? true);
    });
}
