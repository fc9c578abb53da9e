import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ownCpuMs, pidsBelow, processCpuMs } from "@boxyard/core/node";
import type { Platform } from "@boxyard/testkit";
import type { Reading } from "./steps.ts";

/** Reads from outside how much CPU time each party has used. With one sandbox at a time the figures are that sandbox's. */
export class Usage {
  private readonly platform: Platform;
  /** Path of the cgroup of all sandboxes, below each hierarchy. */
  readonly group: string;

  constructor(platform: Platform) {
    this.platform = platform;
    const { instance } = JSON.parse(readFileSync(join(platform.dataDir, "instance.json"), "utf8")) as { instance: string };
    this.group = `boxyard-${instance}`;
  }

  /** `sandbox`: processes that live in sandboxes. */
  read(): Reading {
    return {
      at: performance.timeOrigin + performance.now(),
      cpuMs: { client: ownCpuMs(), server: processCpuMs(this.platform.pid), sandbox: this.living() },
    };
  }

  /** `agent`: the agent and its init; `command`: everything else of the sandbox, ended or not. */
  readOf(sandboxId: string): Reading {
    const at = performance.timeOrigin + performance.now();
    const agent = this.living();
    const command = this.all(sandboxId) - agent;
    return { at, cpuMs: { client: ownCpuMs(), server: processCpuMs(this.platform.pid), agent, command } };
  }

  /** Milliseconds of the server and of all that ran or runs in sandboxes, the runtimes that made them included. */
  readAll(): number {
    return processCpuMs(this.platform.pid) + this.all("");
  }

  /** Processes that live in a sandbox (`""`: in all). */
  pidsOf(sandboxId: string): string[] {
    const unified = existsSync("/sys/fs/cgroup/unified") ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup";
    return pidsBelow(join(unified, this.group, sandboxId));
  }

  private living(): number {
    return this.pidsOf("").reduce((sum, pid) => sum + processCpuMs(pid), 0);
  }

  /** What the kernel has counted for a sandbox's cgroup (`""`: for all sandboxes), those included that have ended. */
  private all(sandboxId: string): number {
    const v1 = join("/sys/fs/cgroup/cpuacct", this.group, sandboxId, "cpuacct.usage");
    if (existsSync(v1)) return Number(readFileSync(v1, "utf8")) / 1e6;
    const stat = readFileSync(join("/sys/fs/cgroup", this.group, sandboxId, "cpu.stat"), "utf8");
    return Number(/^usage_usec (\d+)/m.exec(stat)?.[1]) / 1000;
  }
}
