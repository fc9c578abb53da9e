import { constants, openSync } from "node:fs";

/** The runtime's own table lacks it. */
export const O_CLOEXEC = 0o2000000;

/**
 * Opens for reading what programs of the sandbox may have replaced by anything, and never waits, as for the writer of a pipe. Throws the
 * kernel's error.
 */
export function openForReading(path: string): number {
  return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | O_CLOEXEC);
}
