import type { RetentionRule } from "@boxyard/spec/platform";

const HOUR_MS = 3600_000;
const MIB = 2 ** 20;

/** Something that can be deleted by a rule. */
export interface Kept {
  readonly id: string;
  /** Since when it is kept, wall time in milliseconds. */
  readonly at: number;
  readonly bytes: number;
  /** Something stands on it: it counts, and stays. */
  readonly isInUse: boolean;
}

interface Timing {
  readonly now: number;
  readonly warnMs: number;
  /** When the deletion of an item was announced. */
  announcedAt(id: string): number | undefined;
}

export interface Planned {
  readonly id: string;
  /** When it was announced, or is to be: from then on it may be deleted after the time of the warning. */
  readonly announceAt: number;
  readonly deleteAt: number;
}

/**
 * What a rule deletes of these, and when, the earliest first. An item that is too old has its date from its age, one beyond the count or the size from the
 * announcement; nothing is deleted before it was announced for the time of the warning.
 */
export function planOf(items: readonly Kept[], { maxAgeHours, maxCount, maxMB }: RetentionRule, timing: Timing): Planned[] {
  const { now, warnMs } = timing;
  const newestFirst = [...items].sort((a, b) => b.at - a.at || (a.id < b.id ? -1 : 1));
  const planned: Planned[] = [];
  let bytes = 0;
  for (const [place, { id, at, bytes: own, isInUse }] of newestFirst.entries()) {
    bytes += own;
    if (isInUse) continue;
    const announced = timing.announcedAt(id);
    const isBeyond = (maxCount !== undefined && place >= maxCount) || (maxMB !== undefined && bytes > maxMB * MIB);
    const ends = [...(isBeyond ? [(announced ?? now) + warnMs] : []), ...(maxAgeHours === undefined ? [] : [at + maxAgeHours * HOUR_MS])];
    if (ends.length === 0) continue;
    const wanted = Math.min(...ends);
    const announceAt = announced ?? Math.max(now, wanted - warnMs);
    planned.push({ id, announceAt, deleteAt: Math.max(wanted, announceAt + warnMs) });
  }
  return planned.sort((a, b) => a.deleteAt - b.deleteAt || (a.id < b.id ? -1 : 1));
}
