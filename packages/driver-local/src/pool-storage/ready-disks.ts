import { existsSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { AppError, type Clock, later, systemClock } from "@boxyard/core";
import { snapshotCall, snapshotSubvolume } from "../sys/btrfs.ts";
import { ChildProgram, type ForkServer } from "../sys/fork-server/index.ts";
import { AT_FDCWD, hasErrno, O } from "../sys/libc.ts";
import { dropHold } from "./from-seed.ts";
import type { InodeSeeds } from "./inode-seeds.ts";

/** How many are kept for each seed that was used. Each takes one block of the pool. */
const READY = 32;
/** With fewer left, more are made at once; otherwise only when no sandbox was made for `IDLE_MS`. */
const FEW = 4;
/** Making one takes some milliseconds of CPU time, which a create that has just begun should not lose. */
const IDLE_MS = 1_000;

/** What makes snapshots in a process of its own. */
export type Aside = Pick<ForkServer, "run">;

/**
 * Snapshots of seeds that are ready to become disks. The kernel makes a snapshot only after all written data is on the disk, which takes from
 * one millisecond to many. No create should wait for that, and above all not the server's only thread.
 */
export class ReadyDisks {
  private readonly directory: string;
  private readonly seeds: InodeSeeds;
  private readonly aside: Aside | undefined;
  private readonly filling = new Map<number, Promise<void>>();
  private readonly waiting = new Map<number, () => void>();
  private readonly clock: Clock;
  private closed = false;

  constructor(directory: string, seeds: InodeSeeds, aside?: Aside, clock: Clock = systemClock) {
    this.directory = directory;
    this.seeds = seeds;
    this.aside = aside;
    this.clock = clock;
  }

  /** Makes an empty subvolume at `path` whose inode numbers begin above the seed. `already_exists` when there is a file at `path`. */
  async moveTo(path: string, seed: number): Promise<void> {
    while (!this.tryMove(path, seed)) await this.make(seed);
    dropHold(path);
    this.fill(seed);
  }

  /** Starts making the missing ones, now or after `IDLE_MS`. A failure is reported by the next `moveTo` that has to make one. */
  fill(seed: number): void {
    if (this.closed) return;
    this.waiting.get(seed)?.();
    this.waiting.set(
      seed,
      later(IDLE_MS, () => this.begin(seed, READY), this.clock),
    );
    if (this.namesFor(seed).length < FEW) this.begin(seed, FEW);
  }

  private begin(seed: number, count: number): void {
    if (this.closed || this.filling.has(seed)) return;
    const work = async () => {
      while (!this.closed && this.namesFor(seed).length < count) await this.make(seed);
    };
    const filling = work()
      .catch(() => {})
      .finally(() => this.filling.delete(seed));
    this.filling.set(seed, filling);
  }

  /** Waits for snapshots that are being made. Ready ones stay for the next process. */
  async close(): Promise<void> {
    this.closed = true;
    for (const cancel of this.waiting.values()) cancel();
    await Promise.all(this.filling.values());
  }

  /** Paths of all ready disks. */
  all(): string[] {
    return existsSync(this.directory) ? readdirSync(this.directory).map((name) => `${this.directory}/${name}`) : [];
  }

  /** False when none is ready. Only another process can create `path` between the check and the rename. */
  private tryMove(path: string, seed: number): boolean {
    if (existsSync(path)) throw new AppError("already_exists", `there is a disk at ${path}`, { reason: "disk_exists" });
    for (const name of this.namesFor(seed)) {
      try {
        renameSync(`${this.directory}/${name}`, path);
        return true;
      } catch (error) {
        if (!hasErrno(error, "ENOENT")) throw error;
      }
    }
    return false;
  }

  private async make(seed: number): Promise<void> {
    const source = await this.seeds.get(seed);
    mkdirSync(this.directory, { recursive: true, mode: 0o700 });
    const name = `${seed}-${crypto.randomUUID()}`;
    await snapshotAside(this.aside, source, this.directory, name);
  }

  private namesFor(seed: number): string[] {
    return existsSync(this.directory) ? readdirSync(this.directory).filter((name) => name.startsWith(`${seed}-`)) : [];
  }
}

/**
 * Makes `parent/name` a snapshot of a subvolume, in a child of the fork server, so that the server goes on meanwhile. It makes the snapshot itself where
 * there is no fork server (set-up), and when the child has failed.
 */
export async function snapshotAside(aside: Aside | undefined, source: string, parent: string, name: string): Promise<void> {
  if (!aside) return snapshotSubvolume(source, parent, name);
  const program = new ChildProgram();
  const open = (path: string) => program.call("openat", [AT_FDCWD, path, O.RDONLY | O.DIRECTORY | O.CLOEXEC, 0], path);
  const { request, argument } = snapshotCall(name);
  program.store(argument, 0, open(source));
  program.call("ioctl", [open(parent), request, argument], `snapshot ${source} to ${parent}/${name}`);
  try {
    await aside.run(program);
  } catch {
    // What the kernel refused fails here too, with its error. When only the fork server has ended, this makes the snapshot.
    snapshotSubvolume(source, parent, name);
  }
}
