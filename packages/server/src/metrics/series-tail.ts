import { FIRST, type Point } from "../store/points.ts";

/** Most points of one series that wait for the store; the oldest are dropped while it does not take them: an hour of a busy sandbox. */
const MAX_PENDING = 720;

/** The newest part of a series: its last point, and the points that are not in the store yet. Equal values give no points. */
export class SeriesTail {
  /** The last point; undefined before the first. */
  last: Point | undefined;
  /** Wall time in milliseconds up to which the values are known: those of the last point. */
  seenUntil: number;
  private isFirst = true;
  private waiting: Point[] = [];

  constructor(since: number, last?: Point) {
    this.seenUntil = since;
    this.last = last;
  }

  /** Points that are not in the store yet, oldest first. */
  get pending(): readonly Point[] {
    return this.waiting;
  }

  /** True before the first point, and after an interruption: the next point comes whatever its values are. */
  get isInterrupted(): boolean {
    return this.isFirst;
  }

  /** Adds a point, which covers the time since `seenUntil`. */
  add(now: number, flags: number, values: readonly number[]): void {
    this.push([now, Math.max(1, now - this.seenUntil), flags | (this.isFirst ? FIRST : 0), ...values]);
    this.isFirst = false;
    this.seenUntil = now;
  }

  /** Adds a point as it is. */
  push(point: Point): void {
    this.last = point;
    this.waiting.push(point);
    if (this.waiting.length > MAX_PENDING) this.waiting.shift();
  }

  /** The values have not changed. */
  unchanged(now: number): void {
    this.seenUntil = now;
  }

  /** Nothing can be measured until `now`. */
  interrupted(now: number): void {
    this.seenUntil = now;
    this.isFirst = true;
  }

  /** Forgets points that the store has taken. */
  taken(points: readonly Point[]): void {
    const done = new Set(points);
    this.waiting = this.waiting.filter((point) => !done.has(point));
  }
}
