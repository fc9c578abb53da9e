import { randomUUID } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { errnoOf } from "@boxyard/core/node";
import type { SandboxDriver } from "@boxyard/driver";
import type { Store } from "./store/index.ts";

/** Name of the file of the data directory that says which store its sandboxes stand in. */
export const STORE_ID_FILE = "store-id";

/**
 * Makes sure that the store is the one that this directory's sandboxes stand in: one that knows nothing of them (a forgotten `DATABASE_URL`, a
 * deleted file) would have all of them removed as nobody's. Without sandboxes any store will do. Throws `failed_precondition`, reason
 * `store_mismatch`.
 */
export async function checkStoreIdentity(store: Store, dataDir: string, driver: Pick<SandboxDriver, "list">): Promise<void> {
  const id = await store.getOrCreateMeta("store-id", randomUUID);
  const path = join(dataDir, STORE_ID_FILE);
  const known = read(path);
  if (known === id) return;
  const sandboxes = known === undefined ? [] : await driver.list();
  if (sandboxes.length > 0) throw mismatch(dataDir, sandboxes.length);
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
    `${dataDir} has ${count} sandbox(es) that stand in another store than this one, which would have them removed: start with their store ` +
    "(the same DATABASE_URL or none as before; boxyard.db and store-key from a backup), or end them with `boxyard down --sandboxes`";
  return new AppError("failed_precondition", message, { reason: "store_mismatch" });
}
