import { AppError, type Clock, newSecretId, type TeamId } from "@boxyard/core";
import type { NewSecret } from "@boxyard/spec/platform";
import { limitMet } from "../limit-met.ts";
import { oldestFirst, type Page, type PageQuery, pageIn } from "../page.ts";
import type { SecretRecord, Store } from "../store/index.ts";

export interface TeamSecretsParts {
  readonly store: Pick<Store, "secrets">;
  readonly clock: Clock;
}

/** Limit of the secrets of one team. */
const MAX_SECRETS = 1000;

const positionOf = ({ createdAt, id }: SecretRecord) => ({ at: createdAt, id });

/**
 * The secrets of teams. Clients write values and never read them; `value` is for the parts of the server that give a value to what the team has
 * named it for. Secrets of other teams are `not_found`.
 */
export class TeamSecrets {
  private readonly parts: TeamSecretsParts;

  constructor(parts: TeamSecretsParts) {
    this.parts = parts;
  }

  /** Throws `already_exists`, reason `secret_exists`; `resource_exhausted`, reason `secret_limit_reached`. */
  async create(teamId: TeamId, { name, value, metadata = {} }: NewSecret): Promise<SecretRecord> {
    const { store, clock } = this.parts;
    const record = { id: newSecretId(), teamId, name, metadata, createdAt: clock.now() };
    const outcome = await store.secrets.add({ ...record, value }, MAX_SECRETS);
    if (outcome === "name_taken") {
      throw new AppError("already_exists", `name: there is a secret '${name}' already`, { reason: "secret_exists" });
    }
    if (outcome === "too_many") {
      throw limitMet({ limit: "secrets", value: MAX_SECRETS, reason: "secret_limit_reached", advice: "delete some" });
    }
    return { ...record, version: 1, updatedAt: record.createdAt };
  }

  /** Oldest first. */
  async list(teamId: TeamId, query: PageQuery): Promise<Page<SecretRecord>> {
    return pageIn(await this.parts.store.secrets.list(teamId), oldestFirst, positionOf, query);
  }

  /** The secret of this id or name. Throws `not_found`. */
  async get(teamId: TeamId, key: string): Promise<SecretRecord> {
    return mustBe(await this.parts.store.secrets.find(teamId, keyOf(key)), key);
  }

  /** Gives a secret its next value; `metadata` replaces what there is. Throws `not_found`. */
  async update(
    teamId: TeamId,
    key: string,
    { value, metadata }: { readonly value: string; readonly metadata?: SecretRecord["metadata"] | undefined },
  ): Promise<SecretRecord> {
    const { store, clock } = this.parts;
    return mustBe(await store.secrets.change(teamId, keyOf(key), { value, metadata, at: clock.now() }), key);
  }

  /** Throws `not_found`. */
  async remove(teamId: TeamId, key: string): Promise<void> {
    if (!(await this.parts.store.secrets.remove(teamId, keyOf(key)))) throw notFound(key);
  }

  /** The present value of the secret of this id or name. Throws `not_found`; `failed_precondition`, reason `secret_sealed`. */
  async value(teamId: TeamId, key: string): Promise<string> {
    const value = await this.parts.store.secrets.value(teamId, keyOf(key));
    if (value === undefined) throw notFound(key);
    return value;
  }
}

/** Names are stored in lower case. */
const keyOf = (key: string): string => key.toLowerCase();

function mustBe(record: SecretRecord | undefined, key: string): SecretRecord {
  if (!record) throw notFound(key);
  return record;
}

const notFound = (key: string): AppError =>
  new AppError("not_found", `There is no secret '${key.slice(0, 128)}'`, { reason: "secret_not_found" });
