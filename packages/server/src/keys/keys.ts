import { createHash, randomBytes, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError, type Clock, type TeamId } from "@boxyard/core";
import type { Store } from "../store/index.ts";

/** Who is asking. */
export interface Caller {
  readonly teamId: TeamId;
  readonly keyId: string;
}

/** Slug of the one team that exists until teams come. */
export const DEFAULT_TEAM = "default";

const CACHE_MS = 10_000;
const MAX_CACHED = 1000;

export const newApiKey = (): string => `e2b_${randomBytes(20).toString("hex")}`;
export const hashKey = (key: string): string => createHash("sha256").update(key).digest("hex");

/** Checks API keys. Only their SHA-256 is kept, so looking one up by it leaks nothing through its timing. */
export class Keys {
  private readonly store: Store;
  private readonly clock: Clock;
  private readonly cache = new Map<string, { caller: Caller; until: number }>();

  constructor(store: Store, clock: Clock) {
    this.store = store;
    this.clock = clock;
  }

  /** The caller that `key` belongs to. Throws `unauthenticated`. */
  async authenticate(key: string | undefined): Promise<Caller> {
    if (!key)
      throw new AppError("unauthenticated", "The API key is missing: send it in the header X-API-Key", { reason: "api_key_missing" });
    const hash = hashKey(key);
    const now = this.clock.monotonic();
    const cached = this.cache.get(hash);
    if (cached && cached.until > now) return cached.caller;
    const record = await this.store.findKey(hash);
    if (!record) {
      this.cache.delete(hash);
      throw new AppError("unauthenticated", "Invalid API key: it is not one of this server's", { reason: "api_key_invalid" });
    }
    const caller: Caller = { teamId: record.teamId, keyId: record.id };
    if (this.cache.size >= MAX_CACHED) this.cache.clear();
    this.cache.set(hash, { caller, until: now + CACHE_MS });
    void this.store.touchKey(record.id, this.clock.now()).catch(() => {});
    return caller;
  }
}

export interface FirstKey {
  /** Where the key stands in plain text, readable by root only. */
  readonly path: string;
  readonly key: string;
  /** True if this call made it. */
  readonly created: boolean;
}

/** Makes the first API key, or makes sure that the one in the data folder is known to the store. */
export async function ensureFirstKey(store: Store, dataFolder: string, now: number): Promise<FirstKey> {
  const path = join(dataFolder, "api-key");
  const created = !existsSync(path);
  const key = created ? newApiKey() : (await readFile(path, "utf8")).trim();
  if (!/^e2b_[0-9a-f]+$/.test(key)) {
    throw new AppError("failed_precondition", `${path} does not hold an API key; remove the file to get a new one`, {
      reason: "bad_key_file",
    });
  }
  if (created) {
    await writeFile(`${path}.new`, `${key}\n`, { mode: 0o600 });
    await rename(`${path}.new`, path);
  }
  const teamId = await store.ensureTeam(DEFAULT_TEAM, "Default");
  await store.addKey({ id: randomUUID(), teamId, name: "first", hash: hashKey(key), hint: key.slice(0, 8), createdAt: now });
  return { path, key, created };
}
