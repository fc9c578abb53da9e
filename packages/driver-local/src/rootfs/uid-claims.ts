import { mkdirSync, readdirSync, readlinkSync, rmdirSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { hasErrno } from "../sys/libc.ts";

const PREFIX = "uid-ranges-";

/**
 * Who on this machine has which range of user ids: a symbolic link for each range, named after its first id, to the instance that has it.
 * Made and told in one system call each, so that it holds between servers at any moment and across `kill -9`; a reboot forgets it, with
 * every process that could have run under such an id.
 */
export class UidClaims {
  private readonly directory: string;
  private readonly instance: string;

  /**
   * `runDirectory` is the whole machine's. What stands there from before a reboot means nothing (not every machine empties it), so claims lie in
   * a directory of their boot.
   */
  constructor(runDirectory: string, instance: string, bootId: string) {
    this.directory = `${runDirectory}/${PREFIX}${bootId}`;
    this.instance = instance;
    for (const name of namesIn(runDirectory)) {
      if (name.startsWith(PREFIX) && name !== `${PREFIX}${bootId}`) rmSync(`${runDirectory}/${name}`, { recursive: true, force: true });
    }
  }

  /** True when the range is ours now, or was; false when another server has it. */
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
        // The last server to leave has taken the directory along.
        if (!hasErrno(error, "ENOENT")) throw error;
        mkdirSync(this.directory, { recursive: true, mode: 0o700 });
      }
    }
  }

  giveBack(base: number): void {
    if (this.holderOf(base) === this.instance) this.remove(base);
  }

  /** Gives back what an earlier process of ours claimed and did not come to use. */
  keepOnly(used: ReadonlySet<number>): void {
    for (const base of namesIn(this.directory).map(Number)) if (!used.has(base)) this.giveBack(base);
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
