import type { SandboxId } from "@boxyard/core";
import type { LocalParts } from "./sandbox.ts";
import { readRecord } from "./state/record.ts";

/**
 * Makes the sandboxes that an earlier process left known to the parts that hand things out, so that no address and no user id is given
 * twice. Judges nothing: which of them live on and which go is the server's to say, by `recover` and `destroy`.
 */
export function adoptSandboxes(parts: LocalParts, ids: readonly SandboxId[]): void {
  const records = ids.flatMap((id) => readRecord(parts.paths.state(id)) ?? []);
  for (const record of records) parts.uidRanges.adopt(record.uidBase);
  parts.networks.adopt(records.map((record) => record.lease));
}
