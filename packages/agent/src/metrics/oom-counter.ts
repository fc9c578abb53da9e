import { closeSync, fstatSync, readSync } from "node:fs";
import { openForReading } from "../sys/open-file.ts";

const MAX_BYTES = 4096;

/**
 * Number of processes of the sandbox that the kernel has killed for lack of memory. It never decreases: a resume from disk gives the sandbox new
 * cgroups, whose counts begin at 0, so it is read when everything is frozen for a pause, and again before any process runs.
 */
export interface OomCounter {
  /** The current count; undefined where the sandbox cannot read it. */
  read(): number | undefined;
}

/**
 * Reads the first of `paths` that holds a line `oom_kill N`: `memory.events` of cgroup v2, `memory.oom_control` of v1. The file is opened at
 * the first read, which is before any program of the sandbox runs, and stays open: it is read twice for every command.
 */
export class CgroupOomCounter implements OomCounter {
  private readonly paths: readonly string[];
  private readonly buffer = Buffer.alloc(MAX_BYTES);
  /** Null: no file has a count. */
  private file: number | null | undefined;
  /** Count of the kernel at the last read. */
  private last = 0;
  /** Sum of the counts of earlier cgroups. */
  private earlier = 0;

  constructor(paths: readonly string[]) {
    this.paths = paths;
  }

  read(): number | undefined {
    // Not `??=`: where no file had a count at first, a later one was made by a program.
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
        continue; // A machine with the other version of cgroups.
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
