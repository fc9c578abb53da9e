import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { lockFile } from "@boxyard/driver-local/setup";
import { readTestConfig } from "@boxyard/testkit";

/** Runs `make` while no other test file, of this run or of another checkout, makes the same thing in the cache. */
export async function onePerCache<T>(name: string, make: () => Promise<T>): Promise<T> {
  const { cacheDir } = readTestConfig();
  mkdirSync(cacheDir, { recursive: true });
  const lock = await lockFile(join(cacheDir, `${name}.lock`));
  try {
    return await make();
  } finally {
    lock.release();
  }
}
