import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { readTestConfig } from "./config.ts";

/** Where Linux has a file system in memory, if it has one. */
export const MEMORY = "/dev/shm";
/** Far more than the tests of a run write at one time. A container may have a small /dev/shm. */
const NEEDS_BYTES = 2 * 1024 ** 3;

/** The file system in memory, if it has room for the files of tests. */
export function roomInMemory(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= NEEDS_BYTES ? MEMORY : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A directory for temporary files that are synced or removed by the hundred (stores, databases), in memory where there is room. A run of
 * `./boxyard test` names it, and removes it at its end.
 */
export const memoryDirectory = (): string => readTestConfig().memory ?? roomInMemory() ?? tmpdir();
