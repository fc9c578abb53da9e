import { RANGE_SIZE } from "./uid-ranges.ts";

/** Maps of user ids, of which idmapped mounts are made: lines of first id inside, first id outside, count (user_namespaces(7)). */

/** Ids 0 to 65,535 are `base` and up. */
export const sandboxMap = (base: number): string => `0 ${base} ${RANGE_SIZE}`;

/**
 * The same for a volume whose owners are of the range at `from`, for a sandbox of the range at `to`. Root of the machine stays itself: overlay
 * makes its own directories as root.
 */
export const volumeMap = (from: number, to: number): string => `0 0 1\n${from} ${to} ${RANGE_SIZE}`;
