import { AppError } from "@boxyard/core";
import type { SandboxCgroup } from "../cgroup/sandbox-cgroup.ts";
import { readStats } from "../cgroup/stats.ts";
import type { LocalParts } from "../sandbox.ts";

const mib = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MiB`;

/**
 * Throws `resource_exhausted` when what a sandbox holds in memory would take the pool, or the disk below it, into its reserve: a disk that is full to the
 * last byte takes the pool's file system away from all sandboxes. Others may write meanwhile, so it may still become full. The file system compresses
 * what CRIU writes, but by how much is known only afterwards: it is counted as it is in memory, so a pause may be refused that would have fitted.
 */
export function checkRoomForMemory({ storage }: LocalParts, cgroup: SandboxCgroup): void {
  const needed = readStats(cgroup).memoryUsedBytes;
  const { diskFreeBytes } = storage.room();
  if (needed <= diskFreeBytes) return;
  throw new AppError(
    "resource_exhausted",
    `Its memory takes up to ${mib(needed)}, and the storage pool has room for ${mib(diskFreeBytes)}`,
    {
      reason: "no_room_for_memory",
    },
  );
}
