import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Platform } from "@boxyard/testkit";
import { privateBytes } from "../memory.ts";
import { Usage } from "../trace/usage.ts";

/** Memory in bytes. */
export interface Held {
  /** What no file backs, of all processes in sandboxes. */
  readonly private: number;
  /** What the kernel keeps on the account of the sandboxes: tasks, page tables, sockets, mounts. */
  readonly kernel: number;
  /** Pages of files on the account of the sandboxes. */
  readonly pageCache: number;
  /** Resident memory of the server. */
  readonly server: number;
}

/** What all sandboxes of a platform hold together. */
export function heldBy(platform: Platform): Held {
  const usage = new Usage(platform);
  const status = readFileSync(`/proc/${platform.pid}/status`, "utf8");
  return {
    private: usage.pidsOf("").reduce((sum, pid) => sum + privateBytes(pid), 0),
    server: numberIn(status, /^VmRSS:\s+(\d+) kB$/m) * 1024,
    ...accountOf(usage.group),
  };
}

/** `group`: the cgroup of all sandboxes. */
function accountOf(group: string): Pick<Held, "kernel" | "pageCache"> {
  const v1 = join("/sys/fs/cgroup/memory", group);
  if (existsSync(v1)) {
    const kernel = Number(readFileSync(join(v1, "memory.kmem.usage_in_bytes"), "utf8"));
    return { kernel, pageCache: numberIn(readFileSync(join(v1, "memory.stat"), "utf8"), /^total_cache (\d+)$/m) };
  }
  const stat = readFileSync(join("/sys/fs/cgroup", group, "memory.stat"), "utf8");
  return { kernel: numberIn(stat, /^kernel (\d+)$/m), pageCache: numberIn(stat, /^file (\d+)$/m) };
}

const numberIn = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? Number.NaN);
