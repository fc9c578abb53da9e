import { Database } from "bun:sqlite";

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
/** Resolution of points, the time of one chunk, and from which age to which there are any: as the server thins them (`store/points.ts`). */
const TIERS = [
  { step: 5 * SECOND, chunk: 10 * MINUTE, from: HOUR, to: 0 },
  { step: MINUTE, chunk: 2 * HOUR, from: DAY, to: HOUR },
  { step: 10 * MINUTE, chunk: DAY, from: 30 * DAY, to: DAY },
] as const;
const COMMIT_EVERY = 20_000;
/** Pages that the filler keeps in memory, in KiB: it writes all over the indexes. */
const CACHE_KIB = 512 * 1024;

/** The store's file, for much data in a short time: a crash may lose all of it. */
export function openToFill(file: string): Database {
  const db = new Database(file);
  for (const pragma of [`cache_size = -${CACHE_KIB}`, "synchronous = OFF", "temp_store = MEMORY"]) db.run(`PRAGMA ${pragma}`);
  return db;
}

/** Adds `count` events of a team: changes of sandboxes, one in a hundred of a template. One in a thousand is of another team. */
export function fillEvents(db: Database, teamId: string, otherTeam: string, count: number): void {
  const { last } = db.query("SELECT last FROM event_counter").get() as { last: number };
  const insert = db.query(
    "INSERT INTO events (cursor, at, actor, action, target_id, team_id, old_values, new_values) VALUES (?, ?, 'key:bench', ?, ?, ?, ?, ?)",
  );
  const actions = ["sandbox.creating", "sandbox.running", "sandbox.changed", "sandbox.killing", "sandbox.dead"];
  const begin = Date.now() - DAY;
  inBatches(db, count, (i) => {
    const action = i % 100 === 99 ? "template.changed" : (actions[i % actions.length] as string);
    const target = `bench${Math.floor(i / actions.length)}`;
    const team = i % 1000 === 500 ? otherTeam : teamId;
    insert.run(last + 1 + i, begin + i, action, target, team, '{"state":"running"}', '{"state":"killing","reason":"requested"}');
  });
  db.run("UPDATE event_counter SET last = ?", [last + count]);
}

/** Adds a month of points of each series, in all resolutions. */
export function fillMetrics(db: Database, series: readonly string[], values: number): void {
  const insert = db.query("INSERT OR IGNORE INTO metric_chunks (series, tier, start_at, samples) VALUES (?, ?, ?, ?)");
  const now = Date.now();
  const chunks = TIERS.flatMap(({ step, chunk, from, to }, tier) => {
    const starts = Array.from({ length: Math.floor((from - to) / chunk) }, (_, i) => now - from + i * chunk);
    return starts.map((start) => ({ tier, start, samples: samplesFrom(start, step, chunk / step, values) }));
  });
  inBatches(db, series.length * chunks.length, (i) => {
    const { tier, start, samples } = chunks[i % chunks.length] as (typeof chunks)[number];
    insert.run(series[Math.floor(i / chunks.length)] as string, tier, start, samples);
  });
}

/** A chunk in the store's form: a column for each number of a point, each number as its difference to the one before. */
function samplesFrom(start: number, step: number, count: number, values: number): string {
  const column = (first: number, next: (i: number) => number) => Array.from({ length: count }, (_, i) => (i === 0 ? first : next(i)));
  const changing = () => column(200_000_000, (i) => ((i * 7919) % 20_011) - 10_005);
  const columns = [
    column(start + step, () => step),
    column(step, () => 0),
    column(0, () => 0),
    ...Array.from({ length: values }, changing),
  ];
  return JSON.stringify(columns);
}

function inBatches(db: Database, count: number, add: (i: number) => void): void {
  for (let done = 0; done < count; done += COMMIT_EVERY) {
    db.transaction(() => {
      for (let i = done; i < Math.min(count, done + COMMIT_EVERY); i++) add(i);
    })();
  }
}
