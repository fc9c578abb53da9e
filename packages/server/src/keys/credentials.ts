import { createHash, timingSafeEqual } from "node:crypto";
import { AppError, type Clock, type TeamId } from "@boxyard/core";
import { SCOPES, type Scope } from "@boxyard/spec/platform";
import { type ApiKeyRecord, isStoreFault, type Store } from "../store/index.ts";
import { hashKey } from "./api-key.ts";
import { OpenCalls } from "./open-calls.ts";

/** Who makes a request, and what this caller may do. */
export interface Caller {
  readonly teamId: TeamId;
  /** Empty for the holder of the admin token, and where no key is needed. */
  readonly keyId: string;
  readonly kind: "key" | "token" | "admin" | "anyone";
  readonly scopes: readonly Scope[];
  /** When the key expires, milliseconds since 1970. */
  readonly expiresAt?: number;
}

/** The caller of a route that needs no key. */
export const ANYONE: Caller = { teamId: "" as TeamId, keyId: "", kind: "anyone", scopes: [] };

/** How long a looked-up key is cached. A key that is removed from the store by hand is accepted for so long. */
const CACHE_MS = 10_000;
const MAX_CACHED = 1000;

export interface CredentialsParts {
  readonly store: Store;
  readonly clock: Clock;
  /** The team `default`, whose keys with the scope `admin` are the operator's. */
  readonly operatorTeam: TeamId;
  /** The text that `X-Admin-Token` must be. */
  readonly adminToken: string;
}

/** Checks API keys and tokens. The store has their SHA-256 only, so the time of a look-up reveals nothing about a key. */
export class Credentials {
  private readonly parts: CredentialsParts;
  private readonly cache = new Map<string, { caller: Caller; until: number }>();
  private readonly calls: OpenCalls;
  private readonly admin: Buffer;
  /** Number of revocations: a look-up that began before a revocation must not be cached after it. */
  private revocations = 0;
  private readonly listeners = new Set<(keyId: string) => void>();

  constructor(parts: CredentialsParts) {
    this.parts = parts;
    this.calls = new OpenCalls(parts.clock);
    this.admin = digest(parts.adminToken);
  }

  /**
   * The caller that an API key or access token belongs to. Throws `unauthenticated`; the store's fault for a key that is not cached.
   */
  async authenticate(key: string | undefined): Promise<Caller> {
    if (!key)
      throw new AppError("unauthenticated", "The API key is missing: send it in the header X-API-Key", { reason: "api_key_missing" });
    return this.authenticateHash(hashKey(key));
  }

  /** As `authenticate`, by the hash of the key: for a session that began with the key and has not kept it. */
  async authenticateHash(hash: string): Promise<Caller> {
    const caller = await this.lookUp(hash);
    if (!caller) {
      throw new AppError("unauthenticated", "Invalid API key: it is not one of this server's", { reason: "api_key_invalid" });
    }
    if (caller.expiresAt !== undefined && caller.expiresAt <= this.parts.clock.now()) {
      throw new AppError("unauthenticated", "The API key has expired: use another one", { reason: "api_key_expired" });
    }
    return caller;
  }

  /** The holder of the admin token, which acts for the team `default` unless the request names another. Throws `unauthenticated`. */
  authenticateAdmin(token: string): Caller {
    if (!timingSafeEqual(digest(token), this.admin)) {
      throw new AppError("unauthenticated", "Invalid admin token: the file admin-token of the data directory has it", {
        reason: "admin_token_invalid",
      });
    }
    return { teamId: this.parts.operatorTeam, keyId: "", kind: "admin", scopes: SCOPES };
  }

  /** Whether the caller may manage the server's teams. */
  isOperator({ kind, teamId, scopes }: Caller): boolean {
    return kind === "admin" || (teamId === this.parts.operatorTeam && scopes.includes("admin"));
  }

  /**
   * The caller as one of the team that the request names, by id or slug. The operator's tokens may name any team: `invalid_argument`, reason `team_not_found`, if there is none. For
   * other callers another team than their own is `invalid_argument`, reason `team_mismatch`, whether it exists or not.
   */
  async actFor(caller: Caller, named: string): Promise<Caller> {
    const { store } = this.parts;
    if (caller.kind !== "key" && this.isOperator(caller)) {
      const team = await store.teams.find(named);
      if (!team)
        throw new AppError("invalid_argument", `X-Team-ID: there is no team '${named.slice(0, 100)}'`, { reason: "team_not_found" });
      return { ...caller, teamId: team.id };
    }
    if (named === caller.teamId || named === (await store.teamSlug(caller.teamId))) return caller;
    throw new AppError("invalid_argument", "The API key does not belong to the team that the header X-Team-ID names", {
      reason: "team_mismatch",
    });
  }

  /** Notes a call that a caller was admitted for: `cut` ends it when the key ends. The returned function says that the call has ended. */
  hold({ keyId, expiresAt }: Caller, cut: () => void): () => void {
    return keyId === "" ? () => {} : this.calls.hold(keyId, expiresAt, cut);
  }

  /** Calls `listener` for each key that is revoked. */
  onRevoked(listener: (keyId: string) => void): void {
    this.listeners.add(listener);
  }

  /** To be called when keys have been removed from the store: from now on they are refused, and what they have opened ends. */
  revoked(keyIds: readonly string[]): void {
    this.revocations += 1;
    for (const [hash, { caller }] of this.cache) if (keyIds.includes(caller.keyId)) this.cache.delete(hash);
    for (const keyId of keyIds) {
      this.calls.revoke(keyId);
      for (const listener of this.listeners) listener(keyId);
    }
  }

  private async lookUp(hash: string): Promise<Caller | undefined> {
    const { store, clock } = this.parts;
    const now = clock.monotonic();
    const cached = this.cache.get(hash);
    if (cached && cached.until > now) return cached.caller;
    const { revocations } = this;
    let record: ApiKeyRecord | undefined;
    try {
      record = await store.keys.find(hash);
    } catch (error) {
      // Clients must be able to end their sandboxes while the store is away. The key is still valid: only this server, with the store, revokes keys.
      if (!cached || !isStoreFault(error) || revocations !== this.revocations) throw error;
      cached.until = now + CACHE_MS;
      return cached.caller;
    }
    if (!record) {
      this.cache.delete(hash);
      return undefined;
    }
    const { id: keyId, teamId, kind, scopes, expiresAt } = record;
    const caller: Caller = { teamId, keyId, kind, scopes, ...(expiresAt !== undefined && { expiresAt }) };
    if (this.cache.size >= MAX_CACHED) this.cache.clear();
    if (revocations === this.revocations) this.cache.set(hash, { caller, until: now + CACHE_MS });
    void store.keys.touch(record.id, clock.now()).catch(() => {});
    return caller;
  }
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
