import { randomUUID } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { errnoOf } from "@boxyard/core/node";
import type { SandboxDriver } from "@boxyard/driver";
import type { Store } from "./store/index.ts";

/** Name of the file of the data directory that says which store its sandboxes stand in. */
const STORE_ID_FILE = "store-id";

/**
 * What a starting server does with sandboxes that the driver has and the store does not know.
 * - `refuse`: a single one is put in quarantine. When the store knows none of several, it is the wrong store, and the server does not start.
 * - `adopt`: makes their records again. `remove`: removes them.
 */
export type OrphanPolicy = "refuse" | "adopt" | "remove";

/**
 * Makes sure that the store is the one that this directory's sandboxes stand in: one that knows nothing of them (a forgotten `DATABASE_URL`, a
 * deleted file) would make orphans of all of them. Without sandboxes any store will do. Throws `failed_precondition`, reason
 * `store_mismatch`, unless the policy says what is to become of them.
 */
export async function checkStoreIdentity(
  store: Store,
  dataDir: string,
  driver: Pick<SandboxDriver, "list">,
  policy: OrphanPolicy = "refuse",
): Promise<void> {
  const id = await store.getOrCreateMeta("store-id", randomUUID);
  const path = join(dataDir, STORE_ID_FILE);
  const known = read(path);
  const ids = (await driver.list()).map(({ sandboxId }) => sandboxId);
  // After a lost `node-id` they stand in the store under the old one.
  const found = await store.claimSandboxes(ids);
  if (policy === "refuse") {
    if (known !== undefined && known !== id && ids.length > 0) throw mismatch(dataDir, ids.length);
    if (ids.length > 1 && found === 0) throw mismatch(dataDir, ids.length);
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
    `${dataDir} has ${count} sandbox(es) that stand in another store than this one: start with their store (the same DATABASE_URL or none as ` +
    "before; boxyard.db and store-key from a backup). Without it, `boxyard up --adopt-orphans` takes them into this store, and " +
    "`boxyard up --remove-orphans` ends them";
  return new AppError("failed_precondition", message, { reason: "store_mismatch" });
}
