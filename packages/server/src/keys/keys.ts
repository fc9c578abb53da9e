import { createHmac, randomUUID } from "node:crypto";
import { AppError, type Clock, SerialQueues, type TeamId } from "@boxyard/core";
import { SCOPES, type Scope } from "@boxyard/spec/platform";
import { limitMet } from "../limit-met.ts";
import type { ApiKeyRecord, Store } from "../store/index.ts";
import { hashKey, hintOf, KEY_PREFIX, KEY_VALUE_LENGTH, newAccessToken, newApiKey } from "./api-key.ts";
import type { Caller, Credentials } from "./credentials.ts";

/** Limit of the keys and tokens of one team. */
const MAX_KEYS = 1000;

export interface KeysParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly credentials: Credentials;
  /** Secret from which the keys of access tokens are derived. */
  readonly seed: string;
}

export interface NewKey {
  readonly name: string;
  /** All by default. */
  readonly scopes?: readonly Scope[] | undefined;
  /** Milliseconds since 1970; never by default. */
  readonly expiresAt?: number | undefined;
}

export interface MadeKey {
  /** The key or token itself, which cannot be had again. */
  readonly key: string;
  readonly record: ApiKeyRecord;
}

/** Makes, lists and revokes the API keys and access tokens of teams. */
export class Keys {
  private readonly parts: KeysParts;
  /** By the token whose holder gets a key: so that calls at once make one. */
  private readonly children = new SerialQueues<string>();

  constructor(parts: KeysParts) {
    this.parts = parts;
  }

  /**
   * Makes a key or an access token of a team. Throws `resource_exhausted`, reason `too_many_keys`; `invalid_argument` for an expiry that is over.
   */
  async create(teamId: TeamId, wanted: NewKey, kind: ApiKeyRecord["kind"] = "key", parentId?: string): Promise<MadeKey> {
    const { expiresAt } = wanted;
    if (expiresAt !== undefined && expiresAt <= this.parts.clock.now()) {
      throw new AppError("invalid_argument", "expiresAt: must be in the future", { reason: "already_expired" });
    }
    const key = kind === "key" ? newApiKey() : newAccessToken();
    const record = await this.add(key, { ...wanted, id: randomUUID(), teamId, kind, parentId });
    return { key, record };
  }

  /** Keys or tokens of a team, oldest first. */
  async list(teamId: TeamId, kind: ApiKeyRecord["kind"] = "key"): Promise<ApiKeyRecord[]> {
    return (await this.parts.store.keys.list(teamId)).filter((record) => record.kind === kind);
  }

  /** Gives a key of the team another name. Throws `not_found`. */
  async rename(teamId: TeamId, id: string, name: string): Promise<ApiKeyRecord> {
    const record = await this.parts.store.keys.rename(teamId, id, name);
    if (!record) throw keyNotFound(id);
    return record;
  }

  /**
   * Revokes a key or token, with what its holder had made by it: at once, since a store has one server, and with the calls that are open.
   * Throws `not_found`; `failed_precondition`, reason `last_key`, for the last key of the team that can make others.
   */
  async revoke(teamId: TeamId, id: string, kind: ApiKeyRecord["kind"] = "key"): Promise<void> {
    const { store, clock, credentials } = this.parts;
    const removed = await store.transaction(async (tx) => {
      const keys = await tx.keys.list(teamId);
      const found = keys.find((record) => record.id === id && record.kind === kind);
      if (!found) throw keyNotFound(id);
      const makesOthers = ({ kind: of, scopes, parentId, expiresAt }: ApiKeyRecord) =>
        of === "key" && scopes.includes("admin") && parentId === undefined && (expiresAt === undefined || expiresAt > clock.now());
      if (makesOthers(found) && keys.filter(makesOthers).length === 1) {
        throw new AppError(
          "failed_precondition",
          "This is the last API key that can make others; create another with the scope admin first",
          {
            reason: "last_key",
          },
        );
      }
      return tx.keys.remove(teamId, id);
    });
    credentials.revoked(removed);
  }

  /**
   * The API key of an access token in a team, made when it is asked for first. It has the scopes and the expiry of the token, and ends with it. The
   * store keeps its hash alone; it is derived from its id with the secret seed.
   */
  childOf(caller: Caller, teamId: TeamId): Promise<string> {
    const { store, credentials } = this.parts;
    return this.children.run(caller.keyId, async () => {
      const found = await store.keys.childOf(caller.keyId, teamId);
      const known = found && this.derive(found.id);
      if (known !== undefined && found?.hash === hashKey(known)) return known;
      // A server with another seed has made it, so nobody can be told it.
      if (found) credentials.revoked(await store.keys.remove(teamId, found.id));
      const id = randomUUID();
      const key = this.derive(id);
      const { scopes, expiresAt, keyId: parentId } = caller;
      await this.add(key, { name: "of an access token", id, teamId, kind: "key", parentId, scopes, expiresAt });
      return key;
    });
  }

  private derive(id: string): string {
    return KEY_PREFIX + createHmac("sha256", this.parts.seed).update(`key:${id}`).digest("hex").slice(0, KEY_VALUE_LENGTH);
  }

  private async add(key: string, wanted: NewKey & Pick<ApiKeyRecord, "id" | "teamId" | "kind"> & { parentId?: string | undefined }) {
    const { store, clock } = this.parts;
    const { id, teamId, kind, name, parentId, scopes = SCOPES, expiresAt } = wanted;
    if ((await store.keys.list(teamId)).length >= MAX_KEYS) {
      throw limitMet({ limit: "apiKeys", value: MAX_KEYS, reason: "too_many_keys", advice: "revoke some" });
    }
    const record: ApiKeyRecord = {
      ...{ id, teamId, name, kind, scopes, hash: hashKey(key), hint: hintOf(key), createdAt: clock.now() },
      ...(parentId !== undefined && { parentId }),
      ...(expiresAt !== undefined && { expiresAt }),
    };
    await store.keys.add(record);
    return record;
  }
}

const keyNotFound = (id: string) => new AppError("not_found", `There is no API key '${id.slice(0, 100)}'`, { reason: "key_not_found" });
