import type { Clock, SandboxId, SandboxState, TeamId } from "@boxyard/core";
import type { EventStore } from "./event.ts";
import type { ApiKeyRecord, IdempotencyRecord, SandboxRecord } from "./records.ts";
import type { SandboxLogStore } from "./sandbox-log-store.ts";
import type { StoreHealth } from "./store-health.ts";
import type { StoreLock } from "./store-lock.ts";
import type { TemplateStore } from "./template-store.ts";

/**
 * What must survive the server. Each method takes effect as a whole or not at all, with its event; `transaction` does the
 * same for several. `storeContract` says what each must do.
 */
export interface Store {
  /**
   * Everything that `work` writes through `tx` is there together, or not at all when it throws; then this throws the same. Inside, only `tx`
   * may be used: other calls of the store wait for the end. Keep it short, and wait for nothing but the store in it.
   */
  transaction<T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T>;

  /** What has changed: an event for each change of a sandbox, template, build, tag or key. Counters and times of last use have none. */
  readonly events: EventStore;

  /** Whether it takes changes now. */
  readonly health: StoreHealth;
  /** Writes something, to find out. Throws what keeps it from that. A file that was deleted is written anew for the next server. */
  probe(): Promise<void>;

  /** Makes sure that this server is the only one at work here; `holder` is what another one is told. Throws `store_in_use`. */
  lock(holder: string, clock: Clock): Promise<StoreLock>;

  /** The value kept under `name`; `make` supplies it the first time. Callers that race get the same value. */
  getOrCreateMeta(name: string, make: () => string): Promise<string>;

  /** A secret text as it may stand in the store; `place` says where, and it opens there only. */
  seal(text: string, place: string): string;
  /** Undefined for what the key of another data directory has sealed. */
  unseal(stored: string, place: string): string | undefined;

  /** The team of that slug, made if need be. */
  ensureTeam(slug: string, name: string): Promise<TeamId>;
  /** Slug of a team; undefined if there is none. */
  teamSlug(id: TeamId): Promise<string | undefined>;
  /** Adds a key; one whose hash exists already is left as it is. */
  addKey(key: ApiKeyRecord): Promise<void>;
  findKey(hash: string): Promise<ApiKeyRecord | undefined>;
  listKeys(): Promise<ApiKeyRecord[]>;
  /** Removes a key of a team, if another is left to it; says whether it did. */
  removeKey(teamId: TeamId, id: string): Promise<boolean>;
  touchKey(id: string, usedAt: number): Promise<void>;

  /** Templates, their builds and the cache of build steps. */
  readonly templates: TemplateStore;

  /** What happened to sandboxes. */
  readonly sandboxLogs: SandboxLogStore;

  insertSandbox(record: SandboxRecord): Promise<void>;
  getSandbox(id: SandboxId): Promise<SandboxRecord | undefined>;
  /** Every sandbox of this node that is not dead. */
  listLiving(): Promise<SandboxRecord[]>;
  /**
   * Compare and set: changes the record only if it is in one of the states `from`; says whether it did. `before` is for the event: the values
   * that the change replaces, as far as the caller knows them.
   */
  updateSandbox(id: SandboxId, from: readonly SandboxState[], change: SandboxChange, before?: SandboxChange): Promise<boolean>;
  /**
   * Makes those of the sandboxes this node's own that are not dead and stand under another: the node that has them on its machine owns them, and has lost
   * its name. Returns how many of them the store knows at all.
   */
  claimSandboxes(ids: readonly SandboxId[]): Promise<number>;
  /** Forgets dead sandboxes that ended before `time`, and other nodes' that should have, with their logs. */
  pruneSandboxes(time: number): Promise<void>;

  /** Claims a key; undefined if that worked, else the earlier claim. */
  claimKey(record: IdempotencyRecord): Promise<IdempotencyRecord | undefined>;
  /** Gives a claim up, if it still belongs to that sandbox. */
  dropKey(teamId: TeamId, key: string, sandboxId: SandboxId): Promise<void>;
  pruneKeys(time: number): Promise<void>;

  close(): Promise<void>;
}

/** A store within a transaction; a transaction in it is part of the outer one. */
export type StoreTransaction = Omit<Store, "lock" | "close">;

export type SandboxChange = Partial<
  Pick<SandboxRecord, "state" | "reason" | "startedAt" | "endAt" | "endedAt" | "incarnation" | "settings" | "owner">
>;
