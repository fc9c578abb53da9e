import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError, type Clock, type TeamId } from "@boxyard/core";
import { type ApiKeyRecord, isStoreFault, type Store } from "../store/index.ts";
import { hashKey, hintOf, newApiKey } from "./api-key.ts";

/** The holder of the API key of a request. */
export interface Caller {
  readonly teamId: TeamId;
  readonly keyId: string;
}

/** Slug of the only team. */
export const DEFAULT_TEAM = "default";

/** How long a looked-up key is cached. A key that is removed from the store by hand is accepted for so long. */
const CACHE_MS = 10_000;
const MAX_CACHED = 1000;
/** Limit of the keys of one team. */
const MAX_KEYS = 1000;

/** Checks API keys. The store has their SHA-256 only, so the time of a look-up reveals nothing about a key. */
export class Keys {
  private readonly store: Store;
  private readonly clock: Clock;
  private readonly cache = new Map<string, { caller: Caller; until: number }>();
  /** Number of revocations: a look-up that began before a revocation must not be cached after it. */
  private revoked = 0;

  constructor(store: Store, clock: Clock) {
    this.store = store;
    this.clock = clock;
  }

  /** The caller that `key` belongs to. Throws `unauthenticated`; the store's fault for a key that is not cached. */
  async authenticate(key: string | undefined): Promise<Caller> {
    if (!key)
      throw new AppError("unauthenticated", "The API key is missing: send it in the header X-API-Key", { reason: "api_key_missing" });
    const hash = hashKey(key);
    const now = this.clock.monotonic();
    const cached = this.cache.get(hash);
    if (cached && cached.until > now) return cached.caller;
    const { revoked } = this;
    let record: ApiKeyRecord | undefined;
    try {
      record = await this.store.findKey(hash);
    } catch (error) {
      // Clients must be able to end their sandboxes while the store is away. The key is still valid: only this server, with the store, revokes keys.
      if (!cached || !isStoreFault(error) || revoked !== this.revoked) throw error;
      cached.until = now + CACHE_MS;
      return cached.caller;
    }
    if (!record) {
      this.cache.delete(hash);
      throw new AppError("unauthenticated", "Invalid API key: it is not one of this server's", { reason: "api_key_invalid" });
    }
    const caller: Caller = { teamId: record.teamId, keyId: record.id };
    if (this.cache.size >= MAX_CACHED) this.cache.clear();
    if (revoked === this.revoked) this.cache.set(hash, { caller, until: now + CACHE_MS });
    void this.store.touchKey(record.id, this.clock.now()).catch(() => {});
    return caller;
  }

  /**
   * Checks the team that a request names beside its key, by id or slug. Throws `invalid_argument`, reason `team_mismatch`, for another team, whether
   * that exists or not.
   */
  async checkTeam({ teamId }: Caller, named: string): Promise<void> {
    if (named === teamId || named === (await this.store.teamSlug(teamId))) return;
    throw new AppError("invalid_argument", "The API key does not belong to the team that the header X-Team-ID names", {
      reason: "team_mismatch",
    });
  }

  /** Makes another key for the caller's team. Only the answer has the key itself. Throws `resource_exhausted`, reason `too_many_keys`. */
  async create({ teamId }: Caller, name: string): Promise<{ key: string; record: ApiKeyRecord }> {
    if ((await this.list({ teamId })).length >= MAX_KEYS) {
      throw new AppError("resource_exhausted", `There are ${MAX_KEYS} API keys already; revoke some`, { reason: "too_many_keys" });
    }
    const key = newApiKey();
    const record = { id: randomUUID(), teamId, name, hash: hashKey(key), hint: hintOf(key), createdAt: this.clock.now() };
    await this.store.addKey(record);
    return { key, record };
  }

  /** Keys of a team, oldest first. */
  async list({ teamId }: Pick<Caller, "teamId">): Promise<ApiKeyRecord[]> {
    return (await this.store.listKeys()).filter((record) => record.teamId === teamId);
  }

  /** Gives a key of the team another name. Throws `not_found`. */
  async rename({ teamId }: Caller, id: string, name: string): Promise<ApiKeyRecord> {
    const record = await this.store.renameKey(teamId, id, name);
    if (!record) throw keyNotFound(id);
    return record;
  }

  /**
   * Revokes a key, at once, since a store has one server. Throws `not_found`; `failed_precondition`, reason `last_key`, for the last key of the team,
   * without which no other could be made.
   */
  async revoke({ teamId }: Caller, id: string): Promise<void> {
    if (!(await this.store.removeKey(teamId, id))) {
      const isLast = (await this.list({ teamId })).some((record) => record.id === id);
      if (isLast) throw new AppError("failed_precondition", "This is the last API key; create another first", { reason: "last_key" });
      throw keyNotFound(id);
    }
    this.revoked += 1;
    for (const [hash, { caller }] of this.cache) if (caller.keyId === id) this.cache.delete(hash);
  }
}

export interface FirstKey {
  /** File with the key in plain text, readable by root only. */
  readonly path: string;
  readonly key: string;
  /** True if this call made it. */
  readonly created: boolean;
}

/**
 * Makes the first API key if the data directory has none. The key of the data directory is added to a store without keys; another store may have
 * revoked it. Throws `failed_precondition`, reason `bad_key_file`.
 */
export async function ensureFirstKey(store: Store, dataDir: string, now: number): Promise<FirstKey> {
  const path = join(dataDir, "api-key");
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
  if (created || (await store.listKeys()).length === 0) {
    await store.addKey({ id: randomUUID(), teamId, name: "first", hash: hashKey(key), hint: hintOf(key), createdAt: now });
  }
  return { path, key, created };
}

const keyNotFound = (id: string) => new AppError("not_found", `There is no API key '${id.slice(0, 100)}'`, { reason: "key_not_found" });
