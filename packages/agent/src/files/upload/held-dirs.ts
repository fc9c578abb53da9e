import { PinnedDir } from "../path/pinned-dir.ts";
import { SysError } from "../sys/errno.ts";

/** Descriptors that one upload keeps for its directories. */
const OPEN_AT_ONCE = 256;
const ESTALE = 116;

/**
 * A directory that files of an upload wait in. Held by descriptor; one that has to give it up for others is known by its place, and must be
 * the same directory when it is used again: a link or another directory that was put there leads nowhere.
 */
export class HeldDir {
  /** Where it was when its descriptor was given up. */
  private place: Buffer | undefined;
  private pinned: PinnedDir | undefined;
  private readonly identity: string;
  private readonly onUse: (dir: HeldDir) => void;

  constructor(pinned: PinnedDir, identity: string, onUse: (dir: HeldDir) => void) {
    this.pinned = pinned;
    this.identity = identity;
    this.onUse = onUse;
  }

  /** A name in this directory, as a path for the next system call. Throws `ESTALE` when the directory is no longer where it was. */
  at(name: string): string;
  at(name: string | Buffer): string | Buffer;
  at(name: string | Buffer): string | Buffer {
    this.pinned ??= this.openAgain();
    this.onUse(this);
    return this.pinned.at(name);
  }

  letGo(): void {
    if (!this.pinned) return;
    this.place = this.pinned.realPath();
    this.close();
  }

  close(): void {
    this.pinned?.close();
    this.pinned = undefined;
  }

  private openAgain(): PinnedDir {
    let pinned: PinnedDir | undefined;
    try {
      pinned = PinnedDir.open(this.place ?? "");
      if (pinned.identity() === this.identity) return pinned;
    } catch {
      // Gone: told below.
    }
    pinned?.close();
    throw new SysError("open directory again", ESTALE);
  }
}

/** The directories of one upload, each once, however many they are. Close it. */
export class HeldDirs {
  private readonly known = new Map<string, HeldDir>();
  /** Those with a descriptor; the one that was not used for longest comes first. */
  private readonly open = new Set<HeldDir>();

  /** Takes over a directory just opened. `id` is equal for all its spellings. */
  hold(pinned: PinnedDir): { readonly dir: HeldDir; readonly id: string } {
    const id = pinned.identity();
    let dir = this.known.get(id);
    if (dir) pinned.close();
    else {
      dir = new HeldDir(pinned, id, (used) => this.used(used));
      this.known.set(id, dir);
    }
    return { dir, id };
  }

  /** Throws `ESTALE` unless all are still where they were. */
  check(): void {
    if (this.known.size <= OPEN_AT_ONCE) return;
    for (const dir of this.known.values()) dir.at(".");
  }

  close(): void {
    for (const dir of this.known.values()) dir.close();
    this.known.clear();
    this.open.clear();
  }

  private used(dir: HeldDir): void {
    this.open.delete(dir);
    this.open.add(dir);
    if (this.open.size <= OPEN_AT_ONCE) return;
    const [oldest] = this.open;
    if (!oldest) return;
    this.open.delete(oldest);
    oldest.letGo();
  }
}
