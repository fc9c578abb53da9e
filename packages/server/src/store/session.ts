import { AppError, type Clock, SerialQueue, within } from "@boxyard/core";
import type { SQL } from "bun";
import { currentActor } from "../actor.ts";
import type { NewEvent } from "./event.ts";
import { insertEvents } from "./insert-events.ts";
import type { Sqlite } from "./sqlite.ts";
import { storeFault } from "./store-fault.ts";
import type { StoreHealth } from "./store-health.ts";

type CommitListener = (actions: readonly string[]) => void;

/** Calls listeners when events were committed, with the actions of the events. */
class EventSignal {
  private readonly listeners = new Set<CommitListener>();

  subscribe(listener: CommitListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  notify(actions: readonly string[]): void {
    for (const listener of this.listeners) listener(actions);
  }
}

/** Runs statements: each by itself in the database, or in one open transaction. */
export interface Session {
  readonly sql: SQL;
  /** Runs `work` in a transaction, which is rolled back when `work` throws. Within a transaction, `work` becomes a part of it. */
  transaction<T>(work: (session: Transaction) => Promise<T>): Promise<T>;
  readonly committed: EventSignal;
  close(): Promise<void>;
}

export interface Transaction extends Session {
  /** Adds an event, which is written at the end of the transaction. */
  record(event: NewEvent): void;
}

/** An open transaction; `end` writes its events. */
class OpenTransaction implements Transaction {
  readonly sql: SQL;
  readonly committed: EventSignal;
  private readonly clock: Clock;
  private readonly events: NewEvent[] = [];

  constructor(sql: SQL, committed: EventSignal, clock: Clock) {
    this.sql = sql;
    this.committed = committed;
    this.clock = clock;
  }

  get hasEvents(): boolean {
    return this.events.length > 0;
  }

  get actions(): string[] {
    return this.events.map(({ action }) => action);
  }

  transaction<T>(work: (session: Transaction) => Promise<T>): Promise<T> {
    return work(this);
  }

  record(event: NewEvent): void {
    this.events.push(event);
  }

  async end(): Promise<void> {
    if (this.hasEvents) await insertEvents(this.sql, this.events, currentActor(), this.clock.now());
  }

  async close(): Promise<void> {
    throw new Error("A transaction ends by itself");
  }
}

async function perform<T>(open: OpenTransaction, work: (session: Transaction) => Promise<T>): Promise<T> {
  const result = await work(open);
  // Last: PostgreSQL locks the counter of events until the commit, so the order of the cursors is the order of the commits.
  await open.end();
  return result;
}

/** Milliseconds for a statement or a transaction of the server, which reads or writes a few rows. */
const ANSWER_MS = 5000;

/** PostgreSQL: each transaction runs on a connection of its own. A statement or transaction without an answer fails after `answerMs` milliseconds. */
export class PostgresSession implements Session {
  readonly sql: SQL;
  readonly committed = new EventSignal();
  private readonly raw: SQL;
  private readonly health: StoreHealth;
  private readonly clock: Clock;
  private readonly answerMs: number;

  constructor(raw: SQL, health: StoreHealth, clock: Clock, answerMs = ANSWER_MS) {
    this.raw = raw;
    this.health = health;
    this.clock = clock;
    this.answerMs = answerMs;
    this.sql = intercepted(raw, health, (statement) => this.inTime(statement()));
  }

  async transaction<T>(work: (session: Transaction) => Promise<T>): Promise<T> {
    return watched(this.health, () => this.inTime(this.commit(work)));
  }

  /** A commit wakes the readers of events even if it ends after the limit. */
  private async commit<T>(work: (session: Transaction) => Promise<T>): Promise<T> {
    let open: OpenTransaction | undefined;
    const result = await this.raw.begin((tx) => {
      open = new OpenTransaction(tx, this.committed, this.clock);
      return perform(open, work);
    });
    if (open?.hasEvents) {
      this.committed.notify(open.actions);
      this.health.wrote();
    }
    return result as T;
  }

  close(): Promise<void> {
    return this.raw.close();
  }

  /**
   * The result of `answer`, or `unavailable` (reason `store_unavailable`) after the limit. The statement may still run later: as after a lost answer,
   * the caller cannot know.
   */
  private inTime<T>(answer: Promise<T>): Promise<T> {
    const ms = this.answerMs;
    const late = () =>
      new AppError("unavailable", `The server's store did not answer within ${ms / 1000} s`, { reason: "store_unavailable" });
    return within(answer, ms, late);
  }
}

/**
 * SQLite has one connection, so any other statement would become a part of the open transaction, and be rolled back with it. While a transaction
 * is open or waits, every other statement waits for its turn.
 */
export class SqliteSession implements Session {
  readonly sql: SQL;
  readonly committed = new EventSignal();
  private readonly raw: SQL;
  private readonly health: StoreHealth;
  private readonly clock: Clock;
  private readonly turns = new SerialQueue();
  private pending = 0;

  constructor(database: Sqlite, health: StoreHealth, clock: Clock) {
    this.raw = database.sql;
    this.health = health;
    this.clock = clock;
    const run = (statement: () => Promise<unknown>) => (this.pending === 0 ? statement() : this.inTurn(statement));
    this.sql = database.through((statement) => watched(health, () => run(statement)));
  }

  async transaction<T>(work: (session: Transaction) => Promise<T>): Promise<T> {
    return watched(this.health, () => this.inTurn(() => this.perform(work)));
  }

  close(): Promise<void> {
    return this.turns.run(() => this.raw.close());
  }

  /** Writes the whole database into `file`, which must be empty. */
  async copyTo(file: string): Promise<void> {
    await this.inTurn(() => this.raw.unsafe(`VACUUM INTO '${file.replaceAll("'", "''")}'`));
  }

  /** Writes the whole log (WAL) into the database's file, and begins a new log. */
  async renewLog(): Promise<void> {
    await this.inTurn(async () => {
      await this.raw.unsafe("PRAGMA journal_mode = DELETE");
      await this.raw.unsafe("PRAGMA journal_mode = WAL");
    });
  }

  private async perform<T>(work: (session: Transaction) => Promise<T>): Promise<T> {
    const open = new OpenTransaction(this.raw, this.committed, this.clock);
    this.health.checkFile();
    await this.raw.unsafe("BEGIN IMMEDIATE");
    try {
      const result = await perform(open, work);
      await this.raw.unsafe("COMMIT");
      if (open.hasEvents) {
        this.committed.notify(open.actions);
        this.health.wrote();
      }
      return result;
    } catch (error) {
      // SQLite may have rolled the transaction back by itself, for example on a full disk.
      await this.raw.unsafe("ROLLBACK").catch(() => {});
      throw error;
    }
  }

  private async inTurn<T>(work: () => Promise<T>): Promise<T> {
    this.pending += 1;
    try {
      return await this.turns.run(work);
    } finally {
      this.pending -= 1;
    }
  }
}

/** The result of a statement or a transaction; its error is translated, and its time is told. */
async function watched<T>(health: StoreHealth, work: () => Promise<T>): Promise<T> {
  const startedAt = health.clock.monotonic();
  try {
    return await work();
  } catch (error) {
    throw faultOf(error, health);
  } finally {
    health.onAnswer?.(health.clock.monotonic() - startedAt);
  }
}

function faultOf(error: unknown, health: StoreHealth): unknown {
  const fault = storeFault(error) ?? error;
  health.failed(fault);
  return fault;
}

/** A `sql` that passes each statement to `run` and translates errors with `storeFault`. A statement runs when it is first awaited. */
function intercepted(sql: SQL, health: StoreHealth, run: (statement: () => Promise<unknown>) => Promise<unknown>): SQL {
  return new Proxy(sql, {
    apply(target, self, args) {
      const made: unknown = Reflect.apply(target as (...args: unknown[]) => unknown, self, args);
      // Helpers such as `sql(values)` are not statements.
      if (!(made instanceof Promise)) return made;
      return watched(health, () => run(() => made.then((rows) => rows)));
    },
  });
}
