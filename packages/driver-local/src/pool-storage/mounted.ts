import { existsSync } from "node:fs";
import { AppError } from "@boxyard/core";

/**
 * Throws `unavailable`, reason `pool_not_mounted`, when `directory`, which every mounted pool has, does not exist. A read-only pool is unmounted for
 * a moment to be mounted again: then its contents are unknown, and nothing may be made in its place.
 */
export function checkMounted(directory: string): void {
  if (existsSync(directory)) return;
  throw new AppError("unavailable", "The storage pool is not mounted now; try again in a moment", { reason: "pool_not_mounted" });
}
