import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { type FileLock, tryLockFile } from "@boxyard/core/file-lock";
import { isPoolReadOnly } from "../pool-storage/mount.ts";
import { checkMounted } from "../pool-storage/mounted.ts";
import { digestHex, poolPaths } from "../pool-storage/paths.ts";
import { destroySubvolume, removeQgroup, subvolumeId } from "../sys/btrfs.ts";
import { lockFile } from "../sys/file-lock.ts";
import { hasErrno } from "../sys/libc.ts";
import { FILES } from "./worker/jobs.ts";

const GONE = "gone-";
/** Prefix of unfinished trees in an earlier version of this program. */
const OLD_ASIDE = "import-";

/** A layer that is being made: its own directory in the pool, with a lock that is held while a process works on it. */
export class Making {
  readonly directory: string;
  private readonly dataDir: string;
  private readonly lock: FileLock;

  private constructor(dataDir: string, directory: string, lock: FileLock) {
    this.dataDir = dataDir;
    this.directory = directory;
    this.lock = lock;
  }

  static async begin(dataDir: string): Promise<Making> {
    const paths = poolPaths(dataDir);
    const directory = `${paths.making}/${crypto.randomUUID()}`;
    // Under one lock, so that no sweep removes the directory before it has its own lock.
    const global = await lockFile(paths.layersLock);
    try {
      checkMounted(paths.layers);
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      const lock = tryLockFile(`${directory}/lock`);
      if (!lock) throw new Error(`${directory} is locked already`);
      return new Making(dataDir, directory, lock);
    } finally {
      global.release();
    }
  }

  /** Gives the finished layer its name. An existing layer of this name stays. */
  async publish(digest: string): Promise<void> {
    const paths = poolPaths(this.dataDir);
    const hex = digestHex(digest);
    const global = await lockFile(paths.layersLock);
    try {
      mkdirSync(paths.facts, { recursive: true, mode: 0o700 });
      // The facts first, so that a published layer always has them.
      if (!existsSync(`${paths.facts}/${hex}`)) renameSync(`${this.directory}/${FILES.facts}`, `${paths.facts}/${hex}`);
      if (!existsSync(`${paths.layers}/${hex}`)) renameSync(`${this.directory}/${FILES.tree}`, `${paths.layers}/${hex}`);
    } finally {
      global.release();
    }
  }

  /** Removes the directory and everything in it that was not published. Repeatable. */
  end(): void {
    removeMaking(this.directory);
    this.lock.release();
  }
}

function removeMaking(directory: string): void {
  removeVolume(directory, FILES.tree);
  rmSync(directory, { recursive: true, force: true });
}

/** Deletes a subvolume with its qgroup; fine when there is none. */
function removeVolume(parent: string, name: string): void {
  try {
    const qgroup = subvolumeId(`${parent}/${name}`);
    destroySubvolume(parent, name);
    removeQgroup(parent, qgroup);
  } catch (error) {
    if (!hasErrno(error, "ENOENT")) throw error;
  }
}

/** Removes the layer's name, at once and durably. The returned function removes its content. Undefined when there is no such layer. */
export function unpublish(dataDir: string, digest: string): (() => void) | undefined {
  const paths = poolPaths(dataDir);
  checkMounted(paths.layers);
  const hex = digestHex(digest);
  const gone = `${GONE}${hex}-${crypto.randomUUID()}`;
  try {
    renameSync(`${paths.layers}/${hex}`, `${paths.layers}/${gone}`);
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return undefined;
    throw error;
  }
  const facts = `${paths.making}/${gone}`;
  try {
    mkdirSync(paths.making, { recursive: true, mode: 0o700 });
    renameSync(`${paths.facts}/${hex}`, facts);
  } catch (error) {
    if (!hasErrno(error, "ENOENT")) throw error;
  }
  return () => {
    removeVolume(paths.layers, gone);
    rmSync(facts, { recursive: true, force: true });
  };
}

/** Removes what killed processes have left: unfinished layers, partly removed layers, facts without a layer. */
export async function sweepMaking(dataDir: string): Promise<void> {
  if (isPoolReadOnly(dataDir)) return;
  const paths = poolPaths(dataDir);
  const global = await lockFile(paths.layersLock);
  try {
    for (const name of readdirSync(paths.layers)) {
      if (name.startsWith(GONE) || name.startsWith(OLD_ASIDE)) removeVolume(paths.layers, name);
    }
    for (const name of namesOf(paths.making)) {
      const directory = `${paths.making}/${name}`;
      const lock = name.startsWith(GONE) ? undefined : tryLockFile(`${directory}/lock`);
      if (!lock && !name.startsWith(GONE)) continue;
      removeMaking(directory);
      lock?.release();
    }
    for (const hex of namesOf(paths.facts)) {
      if (!existsSync(`${paths.layers}/${hex}`)) rmSync(`${paths.facts}/${hex}`, { recursive: true, force: true });
    }
  } finally {
    global.release();
  }
}

function namesOf(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}
