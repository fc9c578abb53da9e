import { readFileSync } from "node:fs";
import { join } from "node:path";
import { memoryNow } from "../../guard/machine-memory.ts";

/** The tree, apt's downloads and its lists take half of this. */
const TREE_BYTES = 2 * 1024 ** 3;
/** What must be free, so that building in memory takes nothing from other programs. */
const FREE_BYTES = 2 * TREE_BYTES;

/**
 * Runs the rest of a command with $TMPDIR in memory: a package is unpacked as thousands of small files, and everything is removed again once the tar
 * is written. In a mount namespace of its own, so that it ends with the command. Where the mount fails, the files are on the disk.
 */
export const IN_MEMORY: readonly string[] = [
  "sh",
  "-c",
  `mount -t tmpfs -o mode=0755,size=${TREE_BYTES} tree "$TMPDIR" 2>/dev/null || :; exec "$@"`,
  "sh",
];

/** Whether the machine, and the container that this process may be in, have memory for a tree. */
export function treeFitsMemory(available: () => number = () => memoryNow().availableBytes, room: () => number = roomOfCgroup): boolean {
  return Math.min(available(), room()) >= FREE_BYTES;
}

const ROOT = "/sys/fs/cgroup";

/** Bytes up to the narrowest memory limit of this process's cgroup and of those above it, as far as they are visible; `Infinity` without any. */
export function roomOfCgroup(read: (path: string) => string = (path) => readFileSync(path, "utf8")): number {
  const rooms = placesOf(readOr(read, "/proc/self/cgroup")).map(({ directory, limit, use }) => {
    const most = Number.parseInt(readOr(read, join(directory, limit)), 10);
    return Number.isNaN(most) ? Number.POSITIVE_INFINITY : most - (Number.parseInt(readOr(read, join(directory, use)), 10) || 0);
  });
  return Math.min(Number.POSITIVE_INFINITY, ...rooms);
}

const FILES = {
  v1: { limit: "memory.limit_in_bytes", use: "memory.usage_in_bytes" },
  v2: { limit: "memory.max", use: "memory.current" },
} as const;

/** The cgroups of memory that a text of /proc/self/cgroup names, each with those above it. The last is the root, which in a container has its limit. */
function placesOf(text: string): { directory: string; limit: string; use: string }[] {
  return text.split("\n").flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined || controllers === undefined) return [];
    const isMemory = controllers.split(",").includes("memory");
    if (controllers !== "" && !isMemory) return [];
    const [root, files] = isMemory ? [join(ROOT, "memory"), FILES.v1] : [ROOT, FILES.v2];
    const names = path.split("/").filter((name) => name !== "");
    return Array.from({ length: names.length + 1 }, (_, left) => ({
      directory: join(root, ...names.slice(0, names.length - left)),
      ...files,
    }));
  });
}

/** Empty when there is no such file: a kernel's root has no limit. */
function readOr(read: (path: string) => string, path: string): string {
  try {
    return read(path);
  } catch {
    return "";
  }
}
