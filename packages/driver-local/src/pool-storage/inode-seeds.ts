import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { statFd } from "../sys/at.ts";
import { createSubvolume, destroySubvolume, snapshotSubvolume, subvolumeId } from "../sys/btrfs.ts";
import { lockFile } from "../sys/file-lock.ts";
import { close, hasErrno, O, open } from "../sys/libc.ts";
import { HOLD } from "./from-seed.ts";
import { checkMounted } from "./mounted.ts";
import { poolPaths } from "./paths.ts";

/*
 * Each btrfs subvolume numbers its inodes from 256, and overlay shows these numbers unchanged, with one device number for all layers. So a directory
 * of the sandbox could have the number of a directory of its template, and `find` would report a loop. A subvolume gives its next file a number
 * above the highest in its tree. So a snapshot of a "seed" (a subvolume whose only file has a high number) gives numbers above that file's.
 */

/** Numbers from one seed to the next. To use one up takes 20 µs, and most layers have fewer files. */
export const SEED_STEP = 8_192;
/** The highest seed. A subvolume that would need a higher one gets this one, and may repeat a number. Making all seeds takes a minute. */
export const MAX_SEED = 512;
/** How many seeds are left for the numbers of a layer whose end is not known yet. */
const UNKNOWN_LAYER = 8;
/** The seed above the base template, and the lowest one on which sandboxes begin. A higher one costs the first sandbox time, nothing else. */
export const BASE_SEED = 3;

const NEW = "new";
/** How many numbers are used up before other work of the event loop gets its turn. */
const AT_A_TIME = 512;

/** The lowest seed that begins at or above all of `ends` (the first free numbers of other subvolumes). 0: no seed is needed. */
export function seedAbove(ends: readonly bigint[]): number {
  return Math.min(MAX_SEED, Math.ceil(Math.max(0, ...ends.map(Number)) / SEED_STEP));
}

/**
 * The seed of a layer above these layers, the lowest first. The end of a layer that is imported at the same time is `undefined`: all of them may have
 * begun when none of the others was there.
 */
export function seedAboveLayers(ends: readonly (bigint | undefined)[]): number {
  const known = ends.filter((end) => end !== undefined);
  if (known.length === ends.length) return seedAbove(known);
  const seed = ends.reduce((next, end) => Math.max(next + UNKNOWN_LAYER, end === undefined ? 0 : seedAbove([end])), 0);
  return Math.min(MAX_SEED, seed);
}

/** The seeds of one pool. They are made when they are first needed, and stay. */
export class InodeSeeds {
  private readonly directory: string;
  private readonly layers: string;
  /** First free inode numbers of finished layers, by the ids of their subvolumes, which btrfs never uses again. */
  private readonly ends = new Map<bigint, bigint>();

  constructor(dataDir: string) {
    const { inodeSeeds, layers } = poolPaths(dataDir);
    this.directory = inodeSeeds;
    this.layers = layers;
  }

  /** The first free inode number of this subvolume. It is cached, so the subvolume must be finished. */
  endOf(subvolume: string): bigint {
    const id = subvolumeId(subvolume);
    const known = this.ends.get(id);
    if (known !== undefined) return known;
    const end = nextNumber(subvolume);
    this.ends.set(id, end);
    return end;
  }

  /**
   * Path of a seed from 1 to `MAX_SEED`. A missing one is made, with all between it and the next lower one that is there. Safe while other processes do
   * the same.
   */
  async get(seed: number): Promise<string> {
    const path = this.pathOf(seed);
    if (existsSync(path)) return path;
    checkMounted(this.layers);
    makeDirectory(this.directory);
    const lock = await lockFile(`${this.directory}/lock`);
    try {
      let made = seed;
      while (made > 0 && !existsSync(this.pathOf(made))) made--;
      while (made < seed) await this.make(++made);
    } finally {
      lock.release();
    }
    return path;
  }

  /** Paths of all seeds, also of an unfinished one. */
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
    // A process that was killed here has left it.
    if (existsSync(aside)) destroySubvolume(this.directory, NEW);
    if (seed === 1) createSubvolume(this.directory, NEW);
    else snapshotSubvolume(this.pathOf(seed - 1), this.directory, NEW);
    await useUpTo(aside, BigInt(seed) * BigInt(SEED_STEP) - 1n);
    rmSync(`${aside}/${HOLD}`, { force: true });
    close(open(`${aside}/${HOLD}`, O.WRONLY | O.CREAT | O.EXCL, 0o600));
    renameSync(aside, this.pathOf(seed));
  }
}

/** Makes the seeds of sandboxes over the base template and over one layer more, in the mounted pool of `dataDir`. */
export async function makeUsualSeeds(dataDir: string): Promise<void> {
  await new InodeSeeds(dataDir).get(BASE_SEED + 1);
}

/** Does not make the parents: if the pool was unmounted meanwhile, no directory may be made in its place. */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!hasErrno(error, "EEXIST")) throw error;
  }
}

/** The number that the next file in the directory gets, found by making an unnamed file, which is removed at once. */
function nextNumber(directory: string): bigint {
  const fd = open(directory, O.TMPFILE | O.WRONLY, 0o600);
  try {
    return statFd(fd).ino;
  } finally {
    close(fd);
  }
}

/** Makes unnamed files, each of which takes a number and is removed at once, until `last` is the next number. */
async function useUpTo(directory: string, last: bigint): Promise<void> {
  for (let left = last - nextNumber(directory) - 1n; left > 0n; left--) {
    close(open(directory, O.TMPFILE | O.WRONLY, 0o600));
    if (left % BigInt(AT_A_TIME) === 0n) await Bun.sleep(0);
  }
}
