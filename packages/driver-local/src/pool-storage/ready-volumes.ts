import { existsSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { snapshotSubvolume } from "../sys/btrfs.ts";
import { hasErrno } from "../sys/libc.ts";
import { runCommand } from "../sys/run.ts";
import { dropHold, type InodeSeeds } from "./inode-seeds.ts";

/** Kept for each seed that was in use. Each is one block in the pool. */
const READY = 32;
/** With fewer left, more are made at once; with more, only when no sandbox has been made for a while. */
const FEW = 4;
/** A refill takes a core for some milliseconds each, which a create that has just begun should have for itself. */
const IDLE_MS = 1_000;

/**
 * Snapshots of seeds that wait to become volumes. A snapshot waits until all that was written is on the disk, which takes from one
 * millisecond to many: nobody's create should, and above all not the one thread that everything here runs on.
 */
export class ReadyVolumes {
  private readonly directory: string;
  private readonly seeds: InodeSeeds;
  private readonly filling = new Map<number, Promise<void>>();
  private readonly waiting = new Map<number, NodeJS.Timeout>();
  private closed = false;

  constructor(directory: string, seeds: InodeSeeds) {
    this.directory = directory;
    this.seeds = seeds;
  }

  /** Makes an empty subvolume at `path` whose numbers begin above the seed. EEXIST is `already_exists`. */
  async moveTo(path: string, seed: number): Promise<void> {
    while (!this.tryMove(path, seed)) await this.make(seed);
    dropHold(path);
    this.fill(seed);
  }

  /** Begins to make what is missing, or will when it is quiet. A failure is reported to the next caller that needs one. */
  fill(seed: number): void {
    if (this.closed) return;
    clearTimeout(this.waiting.get(seed));
    this.waiting.set(seed, setTimeout(() => this.begin(seed, READY), IDLE_MS).unref());
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

  /** Waits for what is under way. What is ready stays for the next process. */
  async close(): Promise<void> {
    this.closed = true;
    for (const timer of this.waiting.values()) clearTimeout(timer);
    await Promise.all(this.filling.values());
  }

  /** Paths of all. */
  all(): string[] {
    return existsSync(this.directory) ? readdirSync(this.directory).map((name) => `${this.directory}/${name}`) : [];
  }

  /** False when none is ready. Nothing comes between the look and the move but another process. */
  private tryMove(path: string, seed: number): boolean {
    if (existsSync(path)) throw new AppError("already_exists", `there is a volume at ${path}`, { reason: "volume_exists" });
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
    await snapshotAside(source, this.directory, name);
  }

  private namesFor(seed: number): string[] {
    return existsSync(this.directory) ? readdirSync(this.directory).filter((name) => name.startsWith(`${seed}-`)) : [];
  }
}

/** Makes `parent/name` a snapshot of a subvolume, in a process of its own, so that this one goes on meanwhile. */
export async function snapshotAside(source: string, parent: string, name: string): Promise<void> {
  try {
    await runCommand(["btrfs", "subvolume", "snapshot", source, `${parent}/${name}`]);
  } catch {
    // Where that fails, this does too, and says which error of the kernel's it was.
    snapshotSubvolume(source, parent, name);
  }
}
