import { KernelError } from "@boxyard/core/errno";
import { PinnedDir } from "../path/pinned-dir.ts";

/** Descriptors that one upload keeps for its directories, by default. */
const OPEN_AT_ONCE = 256;
const ESTALE = 116;

/**
 * A directory with temporary files of an upload, held by descriptor. When the descriptor was closed to make room for others, the directory is opened
 * again by its path, and must be the same one: a link or another directory in its place is an error.
 */
export class HeldDir {
  /** Its path when its descriptor was closed. */
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

  /** Closes the descriptor; the next `at` opens the directory again. */
  suspend(): void {
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
      // Gone: reported below.
    }
    pinned?.close();
    throw new KernelError("open directory again", ESTALE);
  }
}

/** The directories of one upload, each once, in any number. The owner closes it. */
export class HeldDirs {
  private readonly known = new Map<string, HeldDir>();
  /** Directories with an open descriptor, the least recently used first. */
  private readonly open = new Set<HeldDir>();
  private readonly openAtOnce: number;

  constructor(openAtOnce = OPEN_AT_ONCE) {
    this.openAtOnce = openAtOnce;
  }

  /** Takes ownership of an open directory. `id` is the same for every path of the directory. */
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

  /** Throws `ESTALE` unless every closed directory can be opened again. */
  check(): void {
    if (this.known.size <= this.openAtOnce) return;
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
    if (this.open.size <= this.openAtOnce) return;
    const [oldest] = this.open;
    if (!oldest) return;
    this.open.delete(oldest);
    oldest.suspend();
  }
}
