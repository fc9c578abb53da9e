import { AppError, type Clock } from "@boxyard/core";
import { SQL } from "bun";
import { fenceLock } from "./fence.ts";
import { storeFault } from "./store-fault.ts";

/** "boxy" in ASCII: the lock's class, which other programs in the database do not use. */
const LOCK_SPACE = 0x626f7879;
/** How long the lock is tried: the database releases the lock of a killed server when it sees the connection closed. */
const TAKE_MS = 3000;
const RETRY_MS = 100;
const BEAT_MS = 5000;

/** SQL that is true while a server without replicas has the database. */
export const LOCK_HELD = `EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid::bigint = ${LOCK_SPACE}
  AND objid::bigint = (hashtext(coalesce(current_schema(), ''))::bigint & 4294967295)
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;

export const leaseTimeout = () => new AppError("unavailable", "The database did not answer in time", { reason: "store_unavailable" });

export interface StoreLock {
  /** Rejects when another server has taken the store over; never settles otherwise. */
  readonly lost: Promise<never>;
  release(): Promise<void>;
}

/** The lock of a store in a file: only the holder of the data directory's lock opens that. */
export const NO_LOCK: StoreLock = { lost: new Promise<never>(() => {}), release: async () => {} };

export interface LockOptions {
  readonly url: string;
  /** Names this server in the error of another server that wants the store. */
  readonly holder: string;
  readonly clock: Clock;
}

/**
 * Locks a PostgreSQL store for one server: templates, builds and sandboxes are on one machine, and two servers would undo each other's work. The lock
 * is an advisory lock of one session, so the database releases it when its holder ends, however that happens. A session also ends when the database
 * restarts, so the lock is checked every five seconds and taken again. Throws `already_exists`, reason `store_in_use`.
 */
export async function lockStore({ url, holder, clock }: LockOptions): Promise<StoreLock> {
  const session = new SQL(url, { max: 1, connectionTimeout: 10 });
  try {
    const deadline = clock.monotonic() + TAKE_MS;
    while (!(await isHeld(session))) {
      if (clock.monotonic() >= deadline) throw await inUse(session);
      await clock.sleep(RETRY_MS);
    }
    await refuseReplicas(session);
    await session`INSERT INTO meta (name, value) VALUES ('server', ${holder}) ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
  } catch (error) {
    await session.close({ timeout: 0 });
    throw storeFault(error) ?? error;
  }
  const stopping = new AbortController();
  const { promise: lost, reject } = Promise.withResolvers<never>();
  // If the caller does not use `lost`, its rejection must not end the process.
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

/** True while the session has the lock; takes a free lock. After a restart of the database, the new session has to take the lock again. */
async function isHeld(session: SQL): Promise<boolean> {
  // The database notices a machine that vanished within a minute, not in two hours.
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

/** Replicas keep their own lease. One that has ended, and whose process still sleeps somewhere, gets no more writes through. */
async function refuseReplicas(session: SQL): Promise<void> {
  const [table] = await session`SELECT to_regclass('replica_lease') IS NOT NULL AS there`;
  if (table?.there !== true) return;
  const isEnded = await session.begin(async (tx) => {
    // After a commit of an owner that is under way.
    await tx.unsafe(`SELECT ${fenceLock("")}`);
    const [row] = await tx`UPDATE replica_lease SET epoch = epoch + 1 WHERE expires_at <= clock_timestamp() RETURNING epoch`;
    return row !== undefined;
  });
  if (isEnded) return;
  throw new AppError(
    "already_exists",
    "Replicas (BOXYARD_REPLICA_ADDRESS) work on the database of DATABASE_URL; end them first, or give this server another database",
    { reason: "store_in_use" },
  );
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
    // While the database is away, no other server can take the lock.
    const held = await isHeld(session).catch(() => true);
    if (!held && !signal.aborted) throw await inUse(session);
  }
}
