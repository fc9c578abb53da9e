import { mkdirSync, readdirSync, readlinkSync, rmdirSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { hasErrno } from "../sys/libc.ts";

const PREFIX = "uid-ranges-";

/**
 * Which instance on this machine has which range of user ids: one symbolic link for each range, named after its first id; the link's target is the
 * instance. One system call makes a claim and one reads it, so claims are safe between servers and across `kill -9`. They end with the boot, as
 * does every process that could run under such an id.
 */
export class UidClaims {
  private readonly directory: string;
  private readonly instance: string;

  /**
   * `runDirectory` is shared by all servers of the machine. Not every machine empties it at a reboot, so claims are in a directory named after the
   * boot; directories of earlier boots are removed.
   */
  constructor(runDirectory: string, instance: string, bootId: string) {
    this.directory = `${runDirectory}/${PREFIX}${bootId}`;
    this.instance = instance;
    for (const name of namesIn(runDirectory)) {
      if (name.startsWith(PREFIX) && name !== `${PREFIX}${bootId}`) rmSync(`${runDirectory}/${name}`, { recursive: true, force: true });
    }
  }

  /** Claims a range. True when this instance has it, now or already before; false when another one has it. */
  claim(base: number): boolean {
    for (;;) {
      try {
        symlinkSync(this.instance, this.pathOf(base));
        return true;
      } catch (error) {
        if (hasErrno(error, "EEXIST")) {
          const holder = this.holderOf(base);
          if (holder === undefined) continue;
          return holder === this.instance;
        }
        // The last server that left the machine has removed the directory.
        if (!hasErrno(error, "ENOENT")) throw error;
        mkdirSync(this.directory, { recursive: true, mode: 0o700 });
      }
    }
  }

  /** Ends this instance's claim. Repeatable; leaves the claims of other instances alone. */
  free(base: number): void {
    if (this.holderOf(base) === this.instance) this.remove(base);
  }

  /** Frees what an earlier process of this instance claimed and did not use. */
  keepOnly(used: ReadonlySet<number>): void {
    for (const base of namesIn(this.directory).map(Number)) if (!used.has(base)) this.free(base);
  }

  /** Removes the directory if nobody has claims in it. */
  release(): void {
    try {
      rmdirSync(this.directory);
    } catch (error) {
      if (!hasErrno(error, "ENOENT", "ENOTEMPTY")) throw error;
    }
  }

  private holderOf(base: number): string | undefined {
    try {
      return readlinkSync(this.pathOf(base));
    } catch (error) {
      if (hasErrno(error, "ENOENT")) return undefined;
      throw error;
    }
  }

  private remove(base: number): void {
    try {
      unlinkSync(this.pathOf(base));
    } catch (error) {
      if (!hasErrno(error, "ENOENT")) throw error;
    }
  }

  private pathOf(base: number): string {
    return `${this.directory}/${base}`;
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return [];
    throw error;
  }
}
