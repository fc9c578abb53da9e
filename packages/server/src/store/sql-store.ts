import { type Clock, newTeamId, type SandboxId, type SandboxState, systemClock, type TeamId } from "@boxyard/core";
import type { SQL } from "bun";
import { CheckpointRows } from "./checkpoint-rows.ts";
import { DeliveryRows } from "./delivery-rows.ts";
import { forgottenRows } from "./forgotten-rows.ts";
import { claimKey, type IdempotencyRecord } from "./idempotency-rows.ts";
import { KeyRows } from "./key-rows.ts";
import { lifecycleOf } from "./life.ts";
import { migrate } from "./migrate.ts";
import { OperationRows } from "./operation-rows.ts";
import { RecordingRows } from "./recording-rows.ts";
import type { SandboxRecord } from "./records.ts";
import { checkFenced, connectionsTo } from "./replica-store.ts";
import { RetentionRows } from "./retention-rows.ts";
import { checkNameIsFree, checkRename, formerNames } from "./sandbox-names.ts";
import { changedColumns, changedDetail, insertedDetail, rowOf, sandboxOf } from "./sandbox-row.ts";
import type { Sealer } from "./sealer.ts";
import { SecretRows } from "./secret-rows.ts";
import { forgetOldPages, Secrets } from "./secrets.ts";
import { PostgresSession, type Session, SqliteSession } from "./session.ts";
import { SqlEventStore } from "./sql-event-store.ts";
import { SqlMetricStore } from "./sql-metric-store.ts";
import { SqlSandboxLogStore } from "./sql-sandbox-log-store.ts";
import { SqlTemplateStore } from "./sql-template-store.ts";
import { type Row, text } from "./sql-values.ts";
import { Sqlite } from "./sqlite.ts";
import type { FormerName, SandboxChange, Store, StoreTransaction } from "./store.ts";
import { isDiskFull, storeFault } from "./store-fault.ts";
import { makePrivate, StoreFile } from "./store-file.ts";
import { StoreHealth } from "./store-health.ts";
import { lockStore, NO_LOCK, type StoreLock } from "./store-lock.ts";
import { nameOf, type StorePlace } from "./store-place.ts";
import { TeamRows } from "./team-rows.ts";
import { VolumeRows } from "./volume-rows.ts";
import { WebhookRows } from "./webhook-rows.ts";

/** The ids of one query. */
const IDS_AT_ONCE = 1000;

/** The parts that a store shares with the stores of its transactions. */
interface StoreParts {
  readonly health: StoreHealth;
  readonly place: StorePlace;
  readonly node: string;
  readonly sealing: Secrets;
  readonly clock: Clock;
}

/** The store on SQL: SQLite in a file, or PostgreSQL by its address; the same statements for both. */
export class SqlStore implements Store {
  readonly templates: SqlTemplateStore;
  readonly sandboxLogs: SqlSandboxLogStore;
  readonly events: SqlEventStore;
  readonly volumes: VolumeRows;
  readonly checkpoints: CheckpointRows;
  readonly teams: TeamRows;
  readonly keys: KeyRows;
  readonly secrets: SecretRows;
  readonly retention: RetentionRows;
  readonly recordings: RecordingRows;
  readonly webhooks: WebhookRows;
  readonly deliveries: DeliveryRows;
  readonly operations: OperationRows;
  readonly metrics: SqlMetricStore;
  readonly health: StoreHealth;
  private readonly session: Session;
  private readonly parts: StoreParts;

  private constructor(session: Session, parts: StoreParts) {
    this.session = session;
    this.parts = parts;
    this.health = parts.health;
    this.templates = new SqlTemplateStore(session);
    this.sandboxLogs = new SqlSandboxLogStore(session);
    this.events = new SqlEventStore(session);
    this.volumes = new VolumeRows(session, this.parts.node);
    this.checkpoints = new CheckpointRows(session, this.parts.node);
    this.teams = new TeamRows(session, parts.clock);
    this.keys = new KeyRows(session);
    this.secrets = new SecretRows(session, parts.sealing);
    this.retention = new RetentionRows(session, parts.clock);
    this.recordings = new RecordingRows(session, this.parts.node);
    this.webhooks = new WebhookRows(session, parts.sealing);
    this.deliveries = new DeliveryRows(session);
    this.operations = new OperationRows(session, this.parts.node);
    this.metrics = new SqlMetricStore(session, this.parts.node);
  }

  /**
   * Opens the store for the sandboxes of `node`, and brings its schema up to date. Throws reason `store_too_new` when a newer version of the server
   * has changed the schema, `store_key` when another key has sealed this node's sandboxes, and an error of `storeFault` when the database fails. `clock`
   * stamps what the store writes by itself, such as events.
   */
  static async open(place: StorePlace, node: string, sealer?: Sealer, clock: Clock = systemClock): Promise<SqlStore> {
    const sealing = new Secrets(sealer);
    const keptAs = "file" in place ? makePrivate(place.file) : undefined;
    const database = "url" in place ? undefined : new Sqlite(place.file);
    const sql = "url" in place ? connectionsTo(place) : (database as Sqlite).sql;
    try {
      if ("url" in place && place.epoch !== undefined) await checkFenced(sql, place.epoch);
      if ("file" in place) await database?.configure(place.exclusive ?? false);
      const last = async (tx: SQL) => {
        // Rows that are older than the column `node` belong to this server, which was the only one then.
        await tx`UPDATE sandboxes SET node = ${node} WHERE node = ''`;
        await tx`UPDATE checkpoints SET node = ${node} WHERE node = ''`;
        return sealing.adopt(tx, node);
      };
      const hadPlain = await migrate(sql, { kind: "url" in place ? "postgres" : "sqlite", clock, last });
      if (hadPlain && "file" in place) await forgetOldPages(sql);
    } catch (error) {
      await sql.close().catch(() => {});
      throw storeFault(error, nameOf(place), "file" in place && place.file !== ":memory:" && isDiskFull(place.file)) ?? error;
    }
    const health = new StoreHealth(clock);
    health.keptAs = keptAs;
    const parts = { health, place, node, sealing, clock };
    if (!database || "url" in place) return new SqlStore(new PostgresSession(sql, health, clock), parts);
    const session = new SqliteSession(database, health, clock);
    if (place.file !== ":memory:") health.file = new StoreFile(place.file, session);
    return new SqlStore(session, parts);
  }

  transaction<T>(work: (tx: StoreTransaction) => Promise<T>): Promise<T> {
    return this.session.transaction((session) => work(new SqlStore(session, this.parts)));
  }

  async probe(): Promise<void> {
    const now = new Date(this.parts.clock.now()).toISOString();
    try {
      await this.health.file?.restoreLog();
      this.health.checkFile();
    } catch (error) {
      this.health.failed(error);
      await this.health.file?.putBack();
      throw error;
    }
    await this.session.sql`INSERT INTO meta (name, value) VALUES ('probe', ${now}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
    this.health.wrote();
  }

  lock(holder: string, clock: Clock): Promise<StoreLock> {
    // A file belongs to its data directory, which has a lock of its own.
    const { place } = this.parts;
    return "url" in place ? lockStore({ url: place.url, holder, clock }) : Promise.resolve(NO_LOCK);
  }

  async getOrCreateMeta(name: string, make: () => string): Promise<string> {
    const row = this.parts.sealing.metaName(name);
    const read = async () => (await this.session.sql`SELECT value FROM meta WHERE name = ${row}`)[0]?.value as string | undefined;
    const found = await read();
    if (found !== undefined) return this.parts.sealing.openMeta(name, found);
    const value = this.parts.sealing.sealMeta(name, make());
    await this.session.sql`INSERT INTO meta (name, value) VALUES (${row}, ${value}) ON CONFLICT (name) DO NOTHING`;
    return this.parts.sealing.openMeta(name, text(await read()));
  }

  seal(text: string, place: string): string {
    return this.parts.sealing.seal(text, place);
  }

  unseal(stored: string, place: string): string | undefined {
    return this.parts.sealing.unseal(stored, place);
  }

  async ensureTeam(slug: string, name: string): Promise<TeamId> {
    const values = { id: newTeamId() as string, slug, name, created_at: this.parts.clock.now() };
    await this.session.sql`INSERT INTO teams ${this.session.sql(values)} ON CONFLICT (slug) DO NOTHING`;
    return text((await this.session.sql`SELECT id FROM teams WHERE slug = ${slug}`)[0].id) as TeamId;
  }

  async teamSlug(id: TeamId): Promise<string | undefined> {
    const [row] = await this.session.sql`SELECT slug FROM teams WHERE id = ${id}`;
    return row ? text(row.slug) : undefined;
  }

  async insertSandbox(record: SandboxRecord): Promise<void> {
    const values = { ...rowOf(record, this.parts.sealing), node: this.parts.node };
    await this.session.transaction(async (tx) => {
      await checkNameIsFree(tx, record.teamId, record.name, record.id);
      await tx.sql`INSERT INTO sandboxes ${tx.sql(values)}`;
      if (record.owner.kind === "pool") return;
      tx.record({ action: `sandbox.${record.state}`, targetId: record.id, teamId: record.teamId, after: insertedDetail(record) });
    });
  }

  async getSandbox(id: SandboxId): Promise<SandboxRecord | undefined> {
    return (await this.getSandboxes([id]))[0];
  }

  async getSandboxes(ids: readonly SandboxId[]): Promise<SandboxRecord[]> {
    const rows = (await this.session.sql`SELECT * FROM sandboxes WHERE id IN ${this.session.sql([...ids, ""] as string[])}`) as Row[];
    return rows.map((row) => sandboxOf(row, this.parts.sealing, this.parts.node));
  }

  async listLiving(): Promise<SandboxRecord[]> {
    const rows = await this.session.sql`SELECT * FROM sandboxes WHERE node = ${this.parts.node} AND state <> 'dead' ORDER BY created_at`;
    return (rows as Row[]).map((row) => sandboxOf(row, this.parts.sealing, this.parts.node));
  }

  async updateSandbox(id: SandboxId, from: readonly SandboxState[], change: SandboxChange, before?: SandboxChange): Promise<boolean> {
    return this.session.transaction(async (tx) => {
      await checkRename(tx, id, change.name);
      const [row] =
        (await tx.sql`UPDATE sandboxes SET ${tx.sql(changedColumns(change, id, this.parts.sealing))} WHERE id = ${id} AND state IN ${tx.sql([...from])}
        RETURNING team_id, owner`) as Row[];
      if (!row) return false;
      if (text(row.owner) === "pool") return true;
      const detail = changedDetail(change, before ?? (from.length === 1 && from[0] ? { state: from[0] } : {}));
      const event = {
        action: `sandbox.${change.state ?? "changed"}`,
        targetId: id,
        teamId: text(row.team_id) as TeamId,
        ...detail,
      } as const;
      tx.record(text(row.owner) === "user" ? { ...event, life: lifecycleOf(event) } : event);
      return true;
    });
  }

  async takeFromPool(record: SandboxRecord): Promise<boolean> {
    const { id, ...values } = rowOf(record, this.parts.sealing);
    return this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`UPDATE sandboxes SET ${tx.sql(values)} WHERE id = ${id} AND owner = 'pool' AND state = 'running'
        RETURNING id`) as Row[];
      if (!row) return false;
      const { state, startedAt, endAt, teamId } = record;
      const about = { targetId: record.id, teamId };
      tx.record({ action: "sandbox.creating", ...about, after: insertedDetail({ ...record, state: "creating" }) });
      const change = { state, endAt, ...(startedAt !== undefined && { startedAt }) };
      const event = { action: `sandbox.${state}`, ...about, ...changedDetail(change, { state: "creating" }) } as const;
      tx.record({ ...event, life: lifecycleOf(event) });
      return true;
    });
  }

  listFormerNames(limit: number): Promise<FormerName[]> {
    return formerNames(this.session, limit);
  }

  async claimSandboxes(ids: readonly SandboxId[]): Promise<number> {
    let known = 0;
    for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
      const some = this.session.sql(ids.slice(at, at + IDS_AT_ONCE).map((id) => id as string));
      const rows = (await this.session.sql`SELECT id, node, state, team_id FROM sandboxes WHERE id IN ${some}`) as Row[];
      known += rows.length;
      const others = rows.filter(({ node, state }) => text(node) !== this.parts.node && text(state) !== "dead");
      if (others.length > 0) await this.claim(others);
    }
    return known;
  }

  private async claim(rows: readonly Row[]): Promise<void> {
    await this.session.transaction(async (tx) => {
      await tx.sql`UPDATE sandboxes SET node = ${this.parts.node} WHERE id IN ${tx.sql(rows.map(({ id }) => text(id)))}`;
      for (const row of rows) {
        const nodes = { before: { node: text(row.node) }, after: { node: this.parts.node } };
        tx.record({ action: "sandbox.claimed", targetId: text(row.id), teamId: text(row.team_id) as TeamId, ...nodes });
      }
    });
  }

  async pruneSandboxes(time: number): Promise<void> {
    const rows = await forgottenRows(this.session, this.parts.node, time);
    if (rows.length === 0) return;
    await this.session.transaction(async (tx) => {
      const ids = tx.sql(rows.map(({ id }) => text(id)));
      await tx.sql`DELETE FROM sandbox_logs WHERE sandbox_id IN ${ids}`;
      await tx.sql`DELETE FROM metric_chunks WHERE series IN ${ids}`;
      await tx.sql`UPDATE events SET life = NULL WHERE target_id IN ${ids} AND life IS NOT NULL`;
      await tx.sql`DELETE FROM sandboxes WHERE id IN ${ids}`;
      // The end of a dead sandbox has its event already.
      for (const { id, state, node, team_id: team } of rows.filter((row) => text(row.state) !== "dead")) {
        const before = { state: text(state), node: text(node) };
        tx.record({ action: "sandbox.forgotten", targetId: text(id), teamId: text(team) as TeamId, before });
      }
    });
  }

  claimKey(record: IdempotencyRecord): Promise<IdempotencyRecord | undefined> {
    return claimKey(this.session, record);
  }

  async dropKey(teamId: TeamId, key: string, madeId: string): Promise<void> {
    await this.session.sql`DELETE FROM idempotency WHERE team_id = ${teamId} AND key = ${key} AND sandbox_id = ${madeId}`;
  }

  async pruneKeys(time: number): Promise<void> {
    await this.session.sql`DELETE FROM idempotency WHERE created_at < ${time}`;
  }

  async close(): Promise<void> {
    await this.session.close();
  }
}
