import { readSystemFile } from "../access/system-file.ts";

const MAX_BYTES = 4096;

/** How often the kernel has ended something of the sandbox for want of memory. */
export interface OomCounter {
  /** Undefined where the sandbox can't see it. */
  read(): number | undefined;
}

/** Reads the first of `paths` that holds a line `oom_kill N`: `memory.events` of cgroup v2, `memory.oom_control` of v1. */
export class CgroupOomCounter implements OomCounter {
  private readonly paths: readonly string[];

  constructor(paths: readonly string[]) {
    this.paths = paths;
  }

  read(): number | undefined {
    for (const path of this.paths) {
      const count = /^oom_kill (\d+)$/m.exec(readSystemFile(path, MAX_BYTES) ?? "")?.[1];
      if (count !== undefined) return Number(count);
    }
    return undefined;
  }
}
