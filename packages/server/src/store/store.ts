import type { Clock, SandboxId, SandboxState, TeamId } from "@boxyard/core";
import type { CheckpointRows } from "./checkpoint-rows.ts";
import type { DeliveryRows } from "./delivery-rows.ts";
import type { EventStore } from "./event.ts";
import type { IdempotencyRecord } from "./idempotency-rows.ts";
import type { KeyRows } from "./key-rows.ts";
import type { MetricStore } from "./metric-store.ts";
import type { OperationRows } from "./operation-rows.ts";
import type { RecordingRows } from "./recording-rows.ts";
import type { SandboxRecord } from "./records.ts";
import type { RetentionRows } from "./retention-rows.ts";
import type { SandboxLogStore } from "./sandbox-log-store.ts";
import type { SecretRows } from "./secret-rows.ts";
import type { StoreHealth } from "./store-health.ts";
import type { StoreLock } from "./store-lock.ts";
import type { TeamRows } from "./team-rows.ts";
import type { TemplateStore } from "./template-store.ts";
import type { VolumeRows } from "./volume-rows.ts";
import type { WebhookRows } from "./webhook-rows.ts";

/**
 * What must survive the server. Each method takes effect, with its event, as a whole or not at all; `transaction` does the same for several
 * methods. `storeContract` tests what each must do. A database that fails throws an error of `storeFault`.
 */
export interface Store {
  /**
   * Runs `work` in a transaction. When `work` throws, nothing that it wrote through `tx` is kept, and this throws the same error. `work` may use
   * `tx` only, because other calls of the store wait for its end. It must be short, and wait for nothing but the store.
   */
  transaction<T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T>;

  /** An event for each change of a sandbox, template, build, tag, key, team, volume, checkpoint, secret, webhook or recording. Counters and times of last use have no events. */
  readonly events: EventStore;

  /** Whether the store takes changes now. */
  readonly health: StoreHealth;
  /** Writes a value to update `health`; throws why that fails. A store file that was deleted is written again for the next server. */
  probe(): Promise<void>;

  /** Locks the store for this server. `holder` names this server in the error of another one. Throws reason `store_in_use`. */
  lock(holder: string, clock: Clock): Promise<StoreLock>;

  /** The value under `name`; the first call makes it with `make`. Callers that race get the same value. */
  getOrCreateMeta(name: string, make: () => string): Promise<string>;

  /** Seals a secret text for the store. It can be opened for the same `place` only. */
  seal(text: string, place: string): string;
  /** Opens a sealed text; undefined for a text that the key of another data directory has sealed. */
  unseal(stored: string, place: string): string | undefined;

  /** The team with that slug; makes it the first time. */
  ensureTeam(slug: string, name: string): Promise<TeamId>;
  /** Slug of a team; undefined if there is none. */
  teamSlug(id: TeamId): Promise<string | undefined>;
  /** The teams. */
  readonly teams: Pick<TeamRows, keyof TeamRows>;
  /** API keys and access tokens. */
  readonly keys: Pick<KeyRows, keyof KeyRows>;

  /** The secrets of teams. */
  readonly secrets: Pick<SecretRows, keyof SecretRows>;
  /** Webhooks, and what is on its way to them. */
  readonly webhooks: Pick<WebhookRows, keyof WebhookRows>;
  readonly deliveries: Pick<DeliveryRows, keyof DeliveryRows>;

  /** The recordings of this node. */
  readonly recordings: Pick<RecordingRows, keyof RecordingRows>;

  /** Deletions by rules that were announced. */
  readonly retention: Pick<RetentionRows, keyof RetentionRows>;

  /** Templates, their builds and the cache of build steps. */
  readonly templates: TemplateStore;

  /** The volumes of this node. */
  readonly volumes: Pick<VolumeRows, keyof VolumeRows>;

  /** The checkpoints of this node. */
  readonly checkpoints: Pick<CheckpointRows, keyof CheckpointRows>;

  /** The operations of this node. */
  readonly operations: Pick<OperationRows, keyof OperationRows>;

  /** The logs of sandboxes. */
  readonly sandboxLogs: SandboxLogStore;

  /** Measurements of sandboxes and teams, and sums of usage. */
  readonly metrics: MetricStore;

  /** Throws when the id exists, and `already_exists`, reason `sandbox_name_taken`, when a sandbox of the team has the name. */
  insertSandbox(record: SandboxRecord): Promise<void>;
  /** The record of a sandbox of any node; undefined if there is none. */
  getSandbox(id: SandboxId): Promise<SandboxRecord | undefined>;
  /** The same for some hundreds at once, in any order; without those that there are none of. */
  getSandboxes(ids: readonly SandboxId[]): Promise<SandboxRecord[]>;
  /** Every sandbox of this node that is not dead. */
  listLiving(): Promise<SandboxRecord[]>;
  /**
   * Compare and set: changes the record only if it is in one of the states `from`. Returns whether it did. `before` is for the event: the values
   * that the change replaces, as far as the caller knows them.
   */
  updateSandbox(id: SandboxId, from: readonly SandboxState[], change: SandboxChange, before?: SandboxChange): Promise<boolean>;
  /**
   * Gives a sandbox of the pool to a user: replaces the record, if the store has the sandbox running in the pool; the events are those of a create. Returns
   * whether it did.
   */
  takeFromPool(record: SandboxRecord): Promise<boolean>;
  /** The newest dead sandboxes that had names, at most `limit`. */
  listFormerNames(limit: number): Promise<FormerName[]>;
  /**
   * Gives sandboxes of this machine, which are not dead and belong to another node, to this node: the data directory has lost its node id. Returns
   * how many of the ids the store knows.
   */
  claimSandboxes(ids: readonly SandboxId[]): Promise<number>;
  /** Removes the records and logs of dead sandboxes that ended before `time`, and of other nodes' sandboxes whose `endAt` is before `time`. */
  pruneSandboxes(time: number): Promise<void>;

  /** Claims an idempotency key. Returns undefined, or the earlier claim. */
  claimKey(record: IdempotencyRecord): Promise<IdempotencyRecord | undefined>;
  /** Removes a claim, if it is still the claim of what has this id. */
  dropKey(teamId: TeamId, key: string, madeId: string): Promise<void>;
  /** Removes claims of idempotency keys from before `time`. */
  pruneKeys(time: number): Promise<void>;

  close(): Promise<void>;
}

/** A store within a transaction. A transaction of it is a part of the outer one. */
export type StoreTransaction = Omit<Store, "lock" | "close">;

export type SandboxChange = Partial<
  Pick<
    SandboxRecord,
    "state" | "reason" | "startedAt" | "endAt" | "endedAt" | "incarnation" | "settings" | "owner" | "checkpointId" | "name" | "usage"
  >
>;

/** What a sandbox of the pool becomes when a user gets it. */
export type TakenChange = SandboxChange & Pick<SandboxRecord, "owner" | "teamId" | "createdAt" | "facts" | "settings">;

/** A sandbox that has ended, and its name. */
export type FormerName = Pick<SandboxRecord, "id" | "teamId"> & { readonly name: string };
