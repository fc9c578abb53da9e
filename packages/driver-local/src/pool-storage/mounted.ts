import { existsSync } from "node:fs";
import { AppError } from "@boxyard/core";

/**
 * Throws `unavailable`, reason `pool_not_mounted`, when a directory is not there that every mounted pool has: a pool that takes no writes is unmounted
 * for a moment to be mounted anew, and nobody can say then what it holds, and nothing is to be made in its place.
 */
export function checkMounted(directory: string): void {
  if (existsSync(directory)) return;
  throw new AppError("unavailable", "The storage pool is not mounted now; try again in a moment", { reason: "pool_not_mounted" });
}
