import { type Clock, within } from "@boxyard/core";
import { SQL } from "bun";
import { fenceLock, LEASE_TABLE } from "./fence.ts";
import { num, type Row, text } from "./sql-values.ts";
import { LOCK_HELD, leaseTimeout } from "./store-lock.ts";

/** Which replica does the work on sandboxes. */
export interface Owner {
  /** Grows with each change of the owner. */
  readonly epoch: number;
  /** Where other replicas reach it; empty until it serves. */
  readonly address: string;
  /** False once its lease has expired. */
  readonly isLive: boolean;
}

export interface LeaseOptions {
  readonly url: string;
  /** Id of this replica's process. */
  readonly holder: string;
  /** How long a lease is valid after it was taken or renewed, by the database's clock. */
  readonly leaseMs: number;
  readonly clock: Clock;
}

const ANSWER_MS = 2000;
const TELL_MS = 3000;

/** The lease of the owner, in the database. Each call fails after two seconds, and the next one has a connection of its own then. */
export class LeaseRows {
  private readonly options: LeaseOptions;
  private session: SQL | undefined;
  private toldAt = Number.NEGATIVE_INFINITY;
  private counting: Promise<number> | undefined;
  private counted = 1;

  constructor(options: LeaseOptions) {
    this.options = options;
  }

  /** Who is the owner now; tells the database too that this replica, with its address, is there. */
  async look(address: string): Promise<Owner> {
    const { holder } = this.options;
    const now = this.options.clock.monotonic();
    const isDue = now >= this.toldAt + TELL_MS;
    const rows = await this.ask(async (sql) => {
      if (isDue)
        await sql`INSERT INTO replicas VALUES (${holder}, ${address}, clock_timestamp())
        ON CONFLICT (id) DO UPDATE SET address = excluded.address, seen_at = excluded.seen_at`;
      return (await sql`SELECT epoch, address, expires_at > clock_timestamp() AS live FROM replica_lease WHERE name = 'owner'`) as Row[];
    });
    if (isDue) this.toldAt = now;
    const [row] = rows;
    if (!row) throw new Error("the table of the lease is empty");
    return { epoch: num(row.epoch), address: text(row.address), isLive: row.live === true };
  }

  /**
   * Takes the lease if it has expired, and no server without replicas works on the database; gives the new epoch. Commits of the former owner that have
   * begun end before; all others are refused from then on.
   */
  async take(): Promise<number | undefined> {
    const { holder } = this.options;
    const rows = await this.ask((sql) =>
      sql.begin(async (tx) => {
        await tx.unsafe(`SELECT ${fenceLock("")}`);
        return (await tx.unsafe(
          `UPDATE ${LEASE_TABLE} SET epoch = epoch + 1, holder = $1, address = '', expires_at = ${this.end()}
           WHERE name = 'owner' AND expires_at <= clock_timestamp() AND NOT (${LOCK_HELD}) RETURNING epoch`,
          [holder],
        )) as Row[];
      }),
    );
    return rows[0] && num(rows[0].epoch);
  }

  /**
   * False when another replica has the lease. A lease that has expired and that nobody has taken is valid again. `address`: where the owner serves; empty:
   * it does not.
   */
  async renew(epoch: number, address: string): Promise<boolean> {
    const where = `WHERE name = 'owner' AND epoch = $1 AND holder = $2`;
    const renewed = await this.ask(
      async (sql) =>
        (await sql.unsafe(`UPDATE ${LEASE_TABLE} SET address = $3, expires_at = ${this.end()} ${where} RETURNING epoch`, [
          epoch,
          this.options.holder,
          address,
        ])) as Row[],
    );
    return renewed.length === 1;
  }

  /** Ends the lease now, so that another replica takes over at once. */
  async release(epoch: number): Promise<void> {
    const { holder } = this.options;
    await this.ask(
      (sql) => sql`UPDATE replica_lease SET address = '', expires_at = clock_timestamp()
        WHERE name = 'owner' AND epoch = ${epoch} AND holder = ${holder}`,
    );
  }

  /**
   * This replica, and those that have looked within the last ten seconds. Calls at the same time share one answer, because they share the connection with
   * the renewals of the lease; while the database is away the answer is that of before.
   */
  countReplicas(): Promise<number> {
    this.counting ??= this.count()
      .then((count) => {
        this.counted = count;
      })
      .catch(() => {})
      .then(() => {
        this.counting = undefined;
        return this.counted;
      });
    return this.counting;
  }

  /** Forgets those that have not looked for a day. */
  private async count(): Promise<number> {
    const { holder } = this.options;
    const [row] = await this.ask(async (sql) => {
      await sql`DELETE FROM replicas WHERE seen_at < clock_timestamp() - interval '1 day'`;
      return (await sql`SELECT count(*) AS count FROM replicas
        WHERE seen_at > clock_timestamp() - interval '10 seconds' AND id <> ${holder}`) as Row[];
    });
    return num(row?.count) + 1;
  }

  async close(): Promise<void> {
    const { session } = this;
    this.session = undefined;
    await session?.close({ timeout: 0 });
  }

  private end(): string {
    return `clock_timestamp() + interval '${this.options.leaseMs} milliseconds'`;
  }

  private async ask<T>(work: (sql: SQL) => Promise<T>): Promise<T> {
    this.session ??= new SQL(this.options.url, { max: 1, connectionTimeout: 2 });
    const { session } = this;
    try {
      return await within(work(session), ANSWER_MS, leaseTimeout, this.options.clock);
    } catch (error) {
      // A statement without an answer would keep those after it waiting.
      if (this.session === session) this.session = undefined;
      session.close({ timeout: 0 }).catch(() => {});
      throw error;
    }
  }
}
