/**
 * A measured point of a series: time in milliseconds since 1970, milliseconds that it covers (the time before it), flags, then the values of the
 * series. All numbers are whole.
 */
export type Point = readonly number[];

export const AT = 0;
export const SPAN = 1;
export const FLAGS = 2;
/** Place of the first value. */
export const VALUES = 3;

/** Nothing is known of the time between the point before and the time that this one covers: the sandbox was paused, or the server was away. */
export const FIRST = 1;
/** The sandbox's agent did not answer. */
export const UNRESPONSIVE = 2;

/**
 * How a value of several points becomes that of one: `sum` for what was used meanwhile, `max` for what was held, `last` for what counts up.
 */
export type Rule = "sum" | "max" | "last";

/** A resolution: points of `stepMs` milliseconds, in chunks of `chunkMs`, kept for `keepMs`. */
export interface Tier {
  readonly stepMs: number;
  readonly chunkMs: number;
  readonly keepMs: number;
}

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];

/** Every 5 s for an hour, every minute for a day, every 10 minutes for 30 days. Points of the first tier are stored as they were flushed. */
export const TIERS = [
  { stepMs: 5 * SECOND, chunkMs: 10 * MINUTE, keepMs: HOUR },
  { stepMs: MINUTE, chunkMs: 2 * HOUR, keepMs: DAY },
  { stepMs: 10 * MINUTE, chunkMs: DAY, keepMs: 30 * DAY },
] as const satisfies readonly Tier[];

const at = (point: Point, place: number): number => point[place] ?? 0;

/** One point for each `stepMs` in which there is any, from points in order of time. Points that are thin already stay as they are. */
export function thin(points: readonly Point[], stepMs: number, rules: readonly Rule[]): Point[] {
  const thinned: number[][] = [];
  for (const point of points) {
    const current = thinned.at(-1);
    const bucket = Math.floor(at(point, AT) / stepMs);
    if (current && Math.floor(at(current, AT) / stepMs) === bucket) merge(current, point, rules);
    else thinned.push([at(point, AT), spanIn(point, current, bucket * stepMs), ...point.slice(FLAGS)]);
  }
  return thinned;
}

/** The time of its step that a step's first point covers: with the time before it in which nothing changed. */
function spanIn(point: Point, before: Point | undefined, stepStart: number): number {
  if (at(point, FLAGS) & FIRST || !before) return at(point, SPAN);
  return Math.max(at(point, SPAN), at(point, AT) - Math.max(stepStart, at(before, AT)));
}

/** Steps of answers that would have too many points; whole hours come after them. */
const LONGER_STEPS = [MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 20 * MINUTE, 30 * MINUTE, HOUR];

/**
 * At most `limit` points, at least three: all, when there are no more, else those of the shortest step that gives so few. The last point stays as it is: it
 * says what is now.
 */
export function thinTo(points: readonly Point[], limit: number, rules: readonly Rule[]): readonly Point[] {
  const [first, last] = [points[0], points.at(-1)];
  if (points.length <= limit || !first || !last) return points;
  // A time of that many steps touches one step more.
  const shortest = (at(last, AT) - at(first, AT)) / (limit - 2);
  const stepMs = LONGER_STEPS.find((step) => step >= shortest) ?? Math.ceil(shortest / HOUR) * HOUR;
  return [...thin(points.slice(0, -1), stepMs, rules), last];
}

function merge(into: number[], point: Point, rules: readonly Rule[]): void {
  const flags = at(point, FLAGS);
  into[SPAN] = at(into, SPAN) + (flags & FIRST ? at(point, SPAN) : at(point, AT) - at(into, AT));
  into[FLAGS] = at(into, FLAGS) | (flags & ~FIRST);
  into[AT] = at(point, AT);
  for (const [index, rule] of rules.entries()) {
    const place = VALUES + index;
    const [old, value] = [at(into, place), at(point, place)];
    into[place] = rule === "sum" ? old + value : rule === "max" ? Math.max(old, value) : value;
  }
}

/**
 * Adds the points that were not stored because nothing had changed: `idle` makes one from the point before and its time. Their distance is that of
 * the tier that `now` gives to their age. After the last point they go on until `until`, if that is given.
 */
export function fill(
  points: readonly Point[],
  idle: (before: Point, time: number, spanMs: number) => Point,
  now: number,
  until?: number,
): Point[] {
  const filled: Point[] = [];
  const fillTo = (before: Point, end: number) => {
    let time = at(before, AT);
    for (;;) {
      const stepMs = stepAt(now - time);
      time += stepMs;
      if (time > end) return;
      filled.push(idle(before, time, stepMs));
    }
  };
  for (const point of points) {
    const before = filled.at(-1);
    // A server that was restarted at once has measured a second time.
    if (before && at(before, AT) === at(point, AT)) filled.pop();
    else if (before && !(at(point, FLAGS) & FIRST)) fillTo(before, at(point, AT) - Math.max(1, at(point, SPAN)));
    filled.push(point);
  }
  const last = filled.at(-1);
  if (last && until !== undefined) fillTo(last, until);
  return filled;
}

const stepAt = (ageMs: number): number => (TIERS.find(({ keepMs }) => ageMs <= keepMs) ?? TIERS[2]).stepMs;

/** The text of points in the store: JSON, a column for each number of a point, each number as its difference to the one before. */
export function encodePoints(points: readonly Point[]): string {
  const width = points[0]?.length ?? 0;
  const columns = Array.from({ length: width }, (_, place) =>
    points.map((point, row) => at(point, place) - (row === 0 ? 0 : at(points[row - 1] ?? [], place))),
  );
  return JSON.stringify(columns);
}

export function decodePoints(text: string): Point[] {
  const columns = JSON.parse(text) as number[][];
  const values = new Array<number>(columns.length).fill(0);
  const points: number[][] = [];
  // By index: a list of a month has 60,000 numbers.
  for (let row = 0; row < (columns[0]?.length ?? 0); row++) {
    for (let place = 0; place < columns.length; place++) values[place] = (values[place] ?? 0) + (columns[place]?.[row] ?? 0);
    points.push(values.slice());
  }
  return points;
}
