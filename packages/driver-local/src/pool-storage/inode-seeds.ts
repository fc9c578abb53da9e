import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { statFd, unlinkAt } from "../sys/at.ts";
import { createSubvolume, destroySubvolume, snapshotSubvolume, subvolumeId } from "../sys/btrfs.ts";
import { lockFile } from "../sys/file-lock.ts";
import { close, hasErrno, O, open } from "../sys/libc.ts";
import { checkMounted } from "./mounted.ts";
import { poolPaths } from "./paths.ts";

/*
 * Each btrfs subvolume numbers its inodes from 256, and overlay shows the numbers of a sandbox's layers as they are, all with one device:
 * a directory of the sandbox's could pass for one of its template's, and `find` sees a loop. A new subvolume goes on above the highest number
 * that it finds in its tree, so one that begins as a snapshot of a "seed" (a subvolume whose only file has a high number) begins above it.
 */

/** Numbers from one seed to the next. */
export const SEED_STEP = 65_536;
/** The highest seed; what would have to begin above it begins here, and may show a number twice. Making them all takes half a minute. */
export const MAX_SEED = 64;

/** The only file of a seed. */
const HOLD = "hold";
const NEW = "new";
/** Numbers used up between two looks at what else is to be done. */
const AT_A_TIME = 512;

/** The lowest seed that begins at or above all of `ends` (the first numbers that are free in other subvolumes). 0: none is needed. */
export function seedAbove(ends: readonly bigint[]): number {
  return Math.min(MAX_SEED, Math.ceil(Math.max(0, ...ends.map(Number)) / SEED_STEP));
}

/** The seeds of one pool. They are made when they are first needed, and stay. */
export class InodeSeeds {
  private readonly directory: string;
  private readonly layers: string;
  /** First free numbers of finished layers by the numbers of their subvolumes, which are never given twice. */
  private readonly ends = new Map<bigint, bigint>();

  constructor(dataDir: string) {
    const { inodeSeeds, layers } = poolPaths(dataDir);
    this.directory = inodeSeeds;
    this.layers = layers;
  }

  /** The first number that no file in this subvolume has. It must not change any more. */
  endOf(subvolume: string): bigint {
    const id = subvolumeId(subvolume);
    const known = this.ends.get(id);
    if (known !== undefined) return known;
    const end = nextNumber(subvolume);
    this.ends.set(id, end);
    return end;
  }

  /** Path of a seed from 1 to `MAX_SEED`; made now, with all below it, when it is missing. Safe beside other processes that do the same. */
  async get(seed: number): Promise<string> {
    const path = this.pathOf(seed);
    if (existsSync(path)) return path;
    checkMounted(this.layers);
    makeDirectory(this.directory);
    const lock = await lockFile(`${this.directory}/lock`);
    try {
      for (let next = 1; next <= seed; next++) if (!existsSync(this.pathOf(next))) await this.make(next);
    } finally {
      lock.release();
    }
    return path;
  }

  /** Paths of all that are there, one in the making too. */
  all(): string[] {
    if (!existsSync(this.directory)) return [];
    return readdirSync(this.directory, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [`${this.directory}/${entry.name}`] : [],
    );
  }

  private pathOf(seed: number): string {
    return `${this.directory}/${seed * SEED_STEP}`;
  }

  private async make(seed: number): Promise<void> {
    const aside = `${this.directory}/${NEW}`;
    // What a process that was killed here has left.
    if (existsSync(aside)) destroySubvolume(this.directory, NEW);
    if (seed === 1) createSubvolume(this.directory, NEW);
    else snapshotSubvolume(this.pathOf(seed - 1), this.directory, NEW);
    await useUpTo(aside, BigInt(seed) * BigInt(SEED_STEP) - 1n);
    rmSync(`${aside}/${HOLD}`, { force: true });
    close(open(`${aside}/${HOLD}`, O.WRONLY | O.CREAT | O.EXCL, 0o600));
    renameSync(aside, this.pathOf(seed));
  }
}

/** Not the directories above it: where the pool has gone meanwhile, none is to come back. */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!hasErrno(error, "EEXIST")) throw error;
  }
}

/** Makes `parent/name` an empty subvolume whose numbers begin above the seed at `seed`. */
export function createFromSeed(seed: string, parent: string, name: string): void {
  snapshotSubvolume(seed, parent, name);
  dropHold(`${parent}/${name}`);
}

/** Makes a fresh snapshot of a seed an empty subvolume. It keeps its place in the numbers for as long as it is mounted. */
export function dropHold(path: string): void {
  const fd = open(path, O.RDONLY | O.DIRECTORY);
  try {
    unlinkAt(fd, HOLD);
  } finally {
    close(fd);
  }
}

/** The number that a file made now in the directory gets; the file is gone at once. */
function nextNumber(directory: string): bigint {
  const fd = open(directory, O.TMPFILE | O.WRONLY, 0o600);
  try {
    return statFd(fd).ino;
  } finally {
    close(fd);
  }
}

/** Makes files without a name, each of which takes a number and is gone at once, until `last` is the next number. */
async function useUpTo(directory: string, last: bigint): Promise<void> {
  for (let left = last - nextNumber(directory) - 1n; left > 0n; left--) {
    close(open(directory, O.TMPFILE | O.WRONLY, 0o600));
    if (left % BigInt(AT_A_TIME) === 0n) await Bun.sleep(0);
  }
}
