import type { Capacity, ResourceLimits } from "@boxyard/driver";
import type { ShortOf } from "@boxyard/spec/platform";
import type { Overcommit } from "../config.ts";
import { LEAST, STARTED } from "../sandboxes/create/capacity-gate.ts";
import type { Promised } from "../sandboxes/engine/counts.ts";

/** The processes of a sandbox in which nothing of its user runs. */
const STARTED_PROCESSES = 8;

interface RoomParts {
  readonly size: ResourceLimits;
  readonly capacity: Capacity;
  readonly overcommit: Overcommit;
  /** The sum of the limits of every sandbox that counts, paused ones included. */
  readonly promised: Promised;
  /** Sandboxes that run. */
  readonly running: number;
  /** What one of them uses on average; 0 if that was not measured yet. */
  readonly memoryEach: number;
  /** Sandboxes of users that the server takes beside those that it has. */
  readonly places: number;
}

/**
 * How many more sandboxes of a size pass the gates of a create, and what the one after them lacks. Their memory and processes are counted as what those
 * that run use on average now: a sandbox takes what it uses, not its limit.
 */
export function roomFor({ size, capacity, overcommit, promised, running, memoryEach, places }: RoomParts): {
  sandboxes: number;
  shortOf: ShortOf;
} {
  const { memoryLimitBytes, memoryFreeBytes, diskLimitBytes, diskFreeBytes, processLimit, processesFree } = capacity;
  const processesEach = running > 0 ? (processLimit - processesFree) / running : 0;
  /** The last one of them must find what every start needs; those before it have taken what they use. */
  const fitting = (free: number, least: number, each: number) => (free < least ? 0 : 1 + Math.floor((free - least) / each));
  const rooms: readonly (readonly [ShortOf, number])[] = [
    ["places", places],
    ["memory", fitting(memoryFreeBytes, Math.min(size.memoryBytes, LEAST.memoryBytes), Math.max(STARTED.memoryBytes, memoryEach))],
    ["disk", fitting(diskFreeBytes, Math.min(size.diskBytes, LEAST.diskBytes), STARTED.diskBytes)],
    ["processes", fitting(processesFree, LEAST.processes, Math.max(STARTED_PROCESSES, processesEach))],
    ["promisedMemory", (memoryLimitBytes * overcommit.memory - promised.memoryBytes) / size.memoryBytes],
    ["promisedDisk", (diskLimitBytes * overcommit.disk - promised.diskBytes) / size.diskBytes],
  ];
  const [shortOf, most] = rooms.reduce((least, one) => (one[1] < least[1] ? one : least));
  return { sandboxes: Math.max(0, Math.floor(most)), shortOf };
}
