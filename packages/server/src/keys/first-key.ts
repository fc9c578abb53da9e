import { randomBytes, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError, type TeamId } from "@boxyard/core";
import { SCOPES } from "@boxyard/spec/platform";
import type { Store } from "../store/index.ts";
import { hashKey, hintOf, newApiKey } from "./api-key.ts";

/** Slug of the team that every server has: the operator's. */
export const DEFAULT_TEAM = "default";

const ADMIN_PREFIX = "boxyard_admin_";
const ADMIN_BYTES = 20;

export interface FirstKey {
  /** File with the key in plain text, readable by root only. */
  readonly path: string;
  readonly key: string;
  /** True if this call made it. */
  readonly created: boolean;
  /** The team of the key. */
  readonly teamId: TeamId;
}

/**
 * Makes the first API key if the data directory has none. The key of the data directory is added to a store without keys; another store may have
 * revoked it. Throws `failed_precondition`, reason `bad_key_file`.
 */
export async function ensureFirstKey(store: Store, dataDir: string, now: number): Promise<FirstKey> {
  const path = join(dataDir, "api-key");
  const { text: key, created } = await ensureFile(path, /^e2b_[0-9a-f]+$/, newApiKey, "an API key");
  const teamId = await store.ensureTeam(DEFAULT_TEAM, "Default");
  if (created || (await store.keys.list()).length === 0) {
    await store.keys.add({
      ...{ id: randomUUID(), teamId, name: "first", kind: "key", scopes: SCOPES, hash: hashKey(key), hint: hintOf(key), createdAt: now },
    });
  }
  return { path, key, created, teamId };
}

export const adminTokenPath = (dataDir: string): string => join(dataDir, "admin-token");

/** The token of the operator, `X-Admin-Token`, which the first start makes. To replace it, remove the file and start the server again. */
export async function ensureAdminToken(dataDir: string): Promise<string> {
  const make = () => `${ADMIN_PREFIX}${randomBytes(ADMIN_BYTES).toString("hex")}`;
  return (await ensureFile(adminTokenPath(dataDir), new RegExp(`^${ADMIN_PREFIX}[0-9a-f]{40}$`), make, "an admin token")).text;
}

/** The text of a secret file, which is made if there is none. */
async function ensureFile(path: string, form: RegExp, make: () => string, what: string): Promise<{ text: string; created: boolean }> {
  const created = !existsSync(path);
  const text = created ? make() : (await readFile(path, "utf8")).trim();
  if (!form.test(text)) {
    throw new AppError("failed_precondition", `${path} does not hold ${what}; remove the file to get a new one`, {
      reason: "bad_key_file",
    });
  }
  if (created) {
    await writeFile(`${path}.new`, `${text}\n`, { mode: 0o600 });
    await rename(`${path}.new`, path);
  }
  return { text, created };
}
