import { AppError, type Clock } from "@boxyard/core";
import { SQL } from "bun";
import { storeFault } from "./store-fault.ts";

/** "boxy" in ASCII: keeps our lock apart from those of other programs in the database. */
const LOCK_SPACE = 0x626f7879;
/** A server that was killed lets go as soon as the database sees its connection closed. */
const TAKE_MS = 3000;
const RETRY_MS = 100;
const BEAT_MS = 5000;

export interface StoreLock {
  /** Rejects when another server has taken the store over; never settles otherwise. */
  readonly lost: Promise<never>;
  release(): Promise<void>;
}

/** Of a store that only the holder of the data directory can open. */
export const NO_LOCK: StoreLock = { lost: new Promise<never>(() => {}), release: async () => {} };

export interface LockOptions {
  readonly url: string;
  /** The name that another server gets that wants the store. */
  readonly holder: string;
  readonly clock: Clock;
}

/**
 * Sees to it that one server at a time works on a PostgreSQL store: templates, builds and sandboxes are on one machine, and two servers would
 * undo each other's work. The lock is the database's own, of one session, so that it goes away with its holder, however that ends; it
 * is looked after, because a session ends with a restart of the database too. Throws `already_exists`, reason `store_in_use`.
 */
export async function lockStore({ url, holder, clock }: LockOptions): Promise<StoreLock> {
  const session = new SQL(url, { max: 1, connectionTimeout: 10 });
  try {
    const deadline = clock.monotonic() + TAKE_MS;
    while (!(await isHeld(session))) {
      if (clock.monotonic() >= deadline) throw await inUse(session);
      await clock.sleep(RETRY_MS);
    }
    await session`INSERT INTO meta (name, value) VALUES ('server', ${holder}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
  } catch (error) {
    await session.close({ timeout: 0 });
    throw storeFault(error) ?? error;
  }
  const stopping = new AbortController();
  const { promise: lost, reject } = Promise.withResolvers<never>();
  // A caller that does not look at it must not be ended by it.
  lost.catch(() => {});
  const watching = watch(session, clock, stopping.signal).catch(reject);
  return {
    lost,
    release: async () => {
      stopping.abort();
      await session.close({ timeout: 0 });
      await watching;
    },
  };
}

/** True while the session has the lock; takes it if it is free. A new session, after the database was away, has to take it again. */
async function isHeld(session: SQL): Promise<boolean> {
  // A machine that has vanished is noticed within a minute, not two hours.
  await session.unsafe("SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3");
  const [row] = await session`
    WITH place AS (SELECT hashtext(coalesce(current_schema(), '')) AS key)
    SELECT CASE WHEN EXISTS (
      SELECT 1 FROM pg_locks, place WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND classid::bigint = ${LOCK_SPACE}
        AND objid::bigint = (key::bigint & 4294967295)
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ) THEN true ELSE pg_try_advisory_lock(${LOCK_SPACE}, (SELECT key FROM place)) END AS held`;
  return row?.held === true;
}

async function inUse(session: SQL): Promise<AppError> {
  const [row] = await session`SELECT value FROM meta WHERE name = 'server'`;
  const who = row === undefined ? "Another server" : `Another server (${row.value})`;
  return new AppError(
    "already_exists",
    `${who} is working on the database of DATABASE_URL; end it first, or give this one another database`,
    {
      reason: "store_in_use",
    },
  );
}

async function watch(session: SQL, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(BEAT_MS, signal).catch(() => {});
    if (signal.aborted) return;
    // While the database is away nobody else can take the lock either.
    const held = await isHeld(session).catch(() => true);
    if (!held && !signal.aborted) throw await inUse(session);
  }
}
