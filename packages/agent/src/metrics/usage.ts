import { statfsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "@boxyard/core";
import { readSystemFile } from "../access/system-file.ts";
import type { SandboxLimits } from "../contracts.ts";
import { readDiskUsed } from "./sandbox-limits.ts";

const MAX_BYTES = 64 * 1024;
const MIB = 1024 * 1024;
/** cgroup v1 reports a number near 2^63 where there is no limit. */
const NO_LIMIT = 2 ** 53;

/** The ten metrics of the contract (docs/contract/agent.md, Statistics). Bytes, but for the two in MiB. */
export interface Metrics {
  readonly ts: number;
  readonly cpu_count: number;
  readonly cpu_used_pct: number;
  readonly mem_total: number;
  readonly mem_used: number;
  readonly mem_cache: number;
  readonly mem_total_mib: number;
  readonly mem_used_mib: number;
  readonly disk_used: number;
  readonly disk_total: number;
}

export interface UsageSources {
  readonly cgroupRoot: string;
  readonly cgroupV1Root: string;
  readonly hostDir: string;
  /** Read anew for each answer: a sandbox can be resized. */
  readonly limits: () => SandboxLimits;
  readonly clock: Clock;
}

interface Memory {
  readonly used: number;
  readonly cache: number;
  readonly limit: number | undefined;
}

/**
 * Resource usage of the sandbox, from its own cgroup, limits and disk. The machine's numbers are used only where the sandbox has no limit. CPU is the
 * percentage of the sandbox's cores that was used since the last call (at first: since the agent's start), 0 to 100.
 */
export class Usage {
  private readonly sources: UsageSources;
  private lastCpu: { readonly usec: number; readonly at: number };

  constructor(sources: UsageSources) {
    this.sources = sources;
    this.lastCpu = { usec: 0, at: 0 };
    this.lastCpu = this.sampleCpu();
  }

  read(): Metrics {
    const { clock } = this.sources;
    const limits = this.sources.limits();
    const cpuCount = Math.max(1, Math.ceil(limits.cpuCount ?? navigator.hardwareConcurrency));
    const memory = this.memory();
    const total = limits.memoryBytes ?? memory.limit ?? machineMemory();
    const disk = this.disk(limits);
    return {
      ts: Math.floor(clock.now() / 1000),
      cpu_count: cpuCount,
      cpu_used_pct: this.cpuUsedPercent(limits.cpuCount ?? cpuCount),
      mem_total: total,
      mem_used: memory.used,
      mem_cache: memory.cache,
      mem_total_mib: Math.floor(total / MIB),
      mem_used_mib: Math.floor(memory.used / MIB),
      disk_used: disk.used,
      disk_total: disk.total,
    };
  }

  private cpuUsedPercent(cores: number): number {
    const before = this.lastCpu;
    this.lastCpu = this.sampleCpu();
    const elapsedUsec = (this.lastCpu.at - before.at) * 1000;
    if (elapsedUsec <= 0) return 0;
    const percent = ((this.lastCpu.usec - before.usec) / (elapsedUsec * cores)) * 100;
    return Math.round(Math.min(Math.max(percent, 0), 100) * 100) / 100;
  }

  private sampleCpu(): { usec: number; at: number } {
    const at = this.sources.clock.monotonic();
    const v1 = this.number(join(this.sources.cgroupV1Root, "cpuacct/cpuacct.usage"));
    if (v1 !== undefined) return { usec: v1 / 1000, at };
    return { usec: fieldOf(this.text(join(this.sources.cgroupRoot, "cpu.stat")), "usage_usec") ?? 0, at };
  }

  /** `used` excludes the page cache and other memory that the kernel can reclaim at once. */
  private memory(): Memory {
    const v1 = join(this.sources.cgroupV1Root, "memory");
    const usage = this.number(join(v1, "memory.usage_in_bytes"));
    if (usage !== undefined) {
      const stat = this.text(join(v1, "memory.stat"));
      const files = (fieldOf(stat, "total_active_file") ?? 0) + (fieldOf(stat, "total_inactive_file") ?? 0);
      const limit = this.number(join(v1, "memory.limit_in_bytes"));
      return { used: Math.max(0, usage - files), cache: fieldOf(stat, "total_cache") ?? 0, limit: bounded(limit) };
    }
    const current = this.number(join(this.sources.cgroupRoot, "memory.current")) ?? 0;
    const stat = this.text(join(this.sources.cgroupRoot, "memory.stat"));
    const slab = fieldOf(stat, "slab_reclaimable") ?? 0;
    const files = (fieldOf(stat, "active_file") ?? 0) + (fieldOf(stat, "inactive_file") ?? 0);
    const limit = this.number(join(this.sources.cgroupRoot, "memory.max"));
    return { used: Math.max(0, current - files - slab), cache: (fieldOf(stat, "file") ?? 0) + slab, limit: bounded(limit) };
  }

  private disk(limits: SandboxLimits): { used: number; total: number } {
    const { hostDir } = this.sources;
    const used = readDiskUsed(hostDir);
    // The file system reports the usage of all sandboxes of the machine. Where the disk has a limit, only the driver knows this sandbox's share.
    if (limits.diskBytes !== undefined) return { used: used ?? 0, total: limits.diskBytes };
    const root = statfsSync("/");
    return { used: used ?? (root.blocks - root.bavail) * root.bsize, total: root.blocks * root.bsize };
  }

  private text(path: string): string {
    return readSystemFile(path, MAX_BYTES) ?? "";
  }

  /** The number in a file; undefined for a missing file, or a word such as `max`. */
  private number(path: string): number | undefined {
    const text = this.text(path).trim();
    return /^\d+$/.test(text) ? Number(text) : undefined;
  }
}

function fieldOf(text: string, name: string): number | undefined {
  const value = new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
}

function bounded(limit: number | undefined): number | undefined {
  return limit !== undefined && limit < NO_LIMIT ? limit : undefined;
}

/** Memory of the machine in bytes. (Loading `node:os` for it would cost every agent 0.6 ms of CPU at its start.) */
function machineMemory(): number {
  return Number(/^MemTotal:\s+(\d+) kB/m.exec(readSystemFile("/proc/meminfo", MAX_BYTES) ?? "")?.[1] ?? 0) * 1024;
}
