import { randomUUID } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { errnoOf } from "@boxyard/core/node";
import type { SandboxDriver, SandboxHandle } from "@boxyard/driver";
import { isOfPool } from "./pool-label.ts";
import type { Store } from "./store/index.ts";

/** File of the data directory with the id of the store that has its sandboxes. */
const STORE_ID_FILE = "store-id";

/**
 * What a starting server does with sandboxes that the driver has and the store does not know.
 * - `refuse`: puts such a sandbox in quarantine. When the store knows none of several sandboxes, it is the wrong store, and the server does not start.
 * - `adopt`: makes their records again.
 * - `remove`: removes them.
 */
export type OrphanPolicy = "refuse" | "adopt" | "remove";

/**
 * Checks that the store is the one with the records of this directory's sandboxes. With another store (a forgotten `DATABASE_URL`, a deleted file)
 * all of them would be orphans. A directory without sandboxes may use any store. Throws `failed_precondition`, reason `store_mismatch`, if the
 * policy is `refuse`.
 */
export async function checkStoreIdentity<Handle extends SandboxHandle>(
  store: Store,
  dataDir: string,
  placement: { list(): Promise<readonly Handle[]>; driverOf(handle: Handle): Pick<SandboxDriver, "keptSpec"> },
  policy: OrphanPolicy = "refuse",
): Promise<void> {
  const id = await store.getOrCreateMeta("store-id", randomUUID);
  const path = join(dataDir, STORE_ID_FILE);
  const known = read(path);
  const handles = await placement.list();
  const ids = handles.map(({ sandboxId }) => sandboxId);
  // After the file `node-id` was lost, the store has the sandboxes under the old id: they are claimed for the new one.
  const found = await store.claimSandboxes(ids);
  const isOther = (known !== undefined && known !== id && ids.length > 0) || (ids.length > 1 && found === 0);
  if (policy === "refuse" && isOther) {
    // No team loses anything with sandboxes of the pool.
    const areOfPool = await Promise.all(handles.map((handle) => isOfPool(placement.driverOf(handle), handle)));
    const lost = areOfPool.filter((isPool) => !isPool).length;
    if (lost > 0) throw mismatch(dataDir, lost);
  }
  if (known === id) return;
  writeFileSync(`${path}.${process.pid}.new`, `${id}\n`, { mode: 0o600 });
  renameSync(`${path}.${process.pid}.new`, path);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function mismatch(dataDir: string, count: number): AppError {
  const message =
    `${dataDir} has ${count} sandbox(es) whose records are in another store: start with that store (the same DATABASE_URL or none as ` +
    "before; boxyard.db and store-key from a backup). Without it, `boxyard up --adopt-orphans` makes their records in this store again, and " +
    "`boxyard up --remove-orphans` ends them";
  return new AppError("failed_precondition", message, { reason: "store_mismatch" });
}
