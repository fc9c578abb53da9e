import { constants, openSync } from "node:fs";

/** Missing in the constants of `node:fs`. */
export const O_CLOEXEC = 0o2000000;

/**
 * Opens a file for reading that programs of the sandbox may have replaced by anything. Never blocks, also not for a FIFO without a writer. Throws the
 * kernel's error.
 */
export function openForReading(path: string): number {
  return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | O_CLOEXEC);
}
