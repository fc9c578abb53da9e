import { RANGE_SIZE } from "./uid-ranges.ts";

/** Maps of user ids, of which idmapped mounts are made: lines of first id inside, first id outside, count (user_namespaces(7)). */

/** Ids 0 to 65,535 inside are `base` and the ids after it outside. */
export const sandboxMap = (base: number): string => `0 ${base} ${RANGE_SIZE}`;

/**
 * The map for a volume whose owners are in the range at `from`, for a sandbox with the range at `to`. The machine's root is mapped to itself:
 * overlay makes its own directories as root.
 */
export const diskMap = (from: number, to: number): string => `0 0 1\n${from} ${to} ${RANGE_SIZE}`;
