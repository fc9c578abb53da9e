import { closeSync, fstatSync, readSync } from "node:fs";
import { openForReading } from "../sys/open-file.ts";

const MAX_BYTES = 4096;

/**
 * How often the kernel has ended something of the sandbox for lack of memory. It never goes down: a resume from disk gives the sandbox new cgroups,
 * whose counts begin at 0, so it is read when everything stands still for a pause, and again before anything runs.
 */
export interface OomCounter {
  /** Undefined where the sandbox can't see it. */
  read(): number | undefined;
}

/**
 * Reads the first of `paths` that holds a line `oom_kill N`: `memory.events` of cgroup v2, `memory.oom_control` of v1. The file is opened at
 * the first read, which is before any program of the sandbox runs, and stays open: it is read twice for every command.
 */
export class CgroupOomCounter implements OomCounter {
  private readonly paths: readonly string[];
  private readonly buffer = Buffer.alloc(MAX_BYTES);
  /** Null: there is none. */
  private file: number | null | undefined;
  /** What the kernel said last. */
  private last = 0;
  /** The sum of what earlier cgroups had counted. */
  private earlier = 0;

  constructor(paths: readonly string[]) {
    this.paths = paths;
  }

  read(): number | undefined {
    // Not `??=`: where there was none, one that appears later is a program's.
    if (this.file === undefined) this.file = this.open();
    const count = this.file === null ? undefined : this.countIn(this.file);
    if (count === undefined) return undefined;
    if (count < this.last) this.earlier += this.last;
    this.last = count;
    return this.earlier + count;
  }

  private open(): number | null {
    for (const path of this.paths) {
      let fd: number;
      try {
        fd = openForReading(path);
      } catch {
        continue; // The other kind of machine.
      }
      if (fstatSync(fd).isFile() && this.countIn(fd) !== undefined) return fd;
      closeSync(fd);
    }
    return null;
  }

  private countIn(fd: number): number | undefined {
    try {
      const size = readSync(fd, this.buffer, 0, MAX_BYTES, 0);
      const count = /^oom_kill (\d+)$/m.exec(this.buffer.toString("latin1", 0, size))?.[1];
      return count === undefined ? undefined : Number(count);
    } catch {
      return undefined;
    }
  }
}
