import { after } from "../../timers.ts";
import { LIMITS } from "../limits.ts";
import { errnoOf } from "../sys/errno.ts";
import { TimeSlice } from "../time-slice.ts";
import type { InotifyHub, Listener } from "./hub.ts";
import { joinRaw } from "./raw-name.ts";

/** One watched directory. */
export class WatchedDir {
  readonly wd: number;
  /** Undefined for the top, and for a directory that is no longer below it. */
  parent: WatchedDir | undefined;
  name = "";
  /** Watched directories in it; undefined until there is one, because most have none. */
  children: Map<string, WatchedDir> | undefined;
  /** Names that were found when the directory was new: true once they are reported. */
  found: Map<string, boolean> | undefined;
  /** Set while it has no name: cancels its release. */
  cancelRelease: (() => void) | undefined;

  constructor(wd: number) {
    this.wd = wd;
  }

  get isHeld(): boolean {
    return this.parent?.children?.get(this.name) === this;
  }
}

/** Errors of inotify_add_watch(2) for a lack of watches; others are about the directory. */
const NO_ROOM = new Set(["ENOSPC", "EMFILE"]);

/**
 * The directories that one watch listens to, as a tree. The kernel's number identifies a directory whatever its name, so each is here once. Its path
 * is made of the names above it, so that a rename costs the same for any number of directories below.
 */
export class WatchedDirs {
  private readonly hub: InotifyHub;
  private readonly listener: Listener;
  private readonly root: string;
  private readonly limit: number;
  private readonly byWd = new Map<number, WatchedDir>();
  private topDir: WatchedDir | undefined;
  private isOver = false;

  /** `root`: a raw path, absolute, without a slash at its end. `limit`: most directories; more throw `ENOSPC`. */
  constructor(hub: InotifyHub, listener: Listener, root: string, limit: number) {
    this.hub = hub;
    this.listener = listener;
    this.root = root;
    this.limit = limit;
  }

  /** Watches the root. From then on the root is this directory, also after a move. Throws the kernel's error. */
  open(): WatchedDir {
    const top = this.listen(this.root, true).dir;
    this.topDir = top;
    return top;
  }

  /** The root; undefined before `open`, and after it was removed. */
  get top(): WatchedDir | undefined {
    return this.topDir;
  }

  /** Whether the root's path still leads to the root; if not, directories below cannot be read by path. */
  get isInPlace(): boolean {
    try {
      const { dir, isNew } = this.listen(this.root, true);
      if (isNew) this.drop(dir);
      return dir === this.topDir;
    } catch {
      return false;
    }
  }

  get(wd: number): WatchedDir | undefined {
    return this.byWd.get(wd);
  }

  /** The path relative to the root, empty for the root itself; undefined for a directory that is no longer below it. */
  relOf(dir: WatchedDir): string | undefined {
    let rel = "";
    let each = dir;
    while (each !== this.topDir) {
      if (!each.parent) return undefined;
      rel = rel === "" ? each.name : `${each.name}/${rel}`;
      each = each.parent;
    }
    return rel;
  }

  /** Absolute path of a path relative to the root. */
  pathOf(rel: string): string {
    if (rel === "") return this.root;
    return this.root === "/" ? `/${rel}` : `${this.root}/${rel}`;
  }

  /**
   * Watches the directory that has this name now, and moves it to this place of the tree. Undefined when there is none, or when it cannot be
   * watched. Throws `ENOSPC` or `EMFILE` for a lack of watches.
   */
  place(parent: WatchedDir, name: string): { dir: WatchedDir; isNew: boolean } | undefined {
    const rel = this.relOf(parent);
    if (rel === undefined) return undefined;
    try {
      const placed = this.listen(this.pathOf(joinRaw(rel, name)), false);
      return this.attach(placed.dir, parent, name) ? placed : undefined;
    } catch (error) {
      if (NO_ROOM.has(errnoOf(error) ?? "")) throw error;
      return undefined;
    }
  }

  /** Gives a directory this name; another one with the name is displaced. False when it is no longer watched, or would be below itself, as with bind mounts. */
  attach(dir: WatchedDir, parent: WatchedDir, name: string): boolean {
    if (this.byWd.get(dir.wd) !== dir) return false;
    for (let each: WatchedDir | undefined = parent; each; each = each.parent) if (each === dir) return false;
    parent.children ??= new Map();
    const holder = parent.children.get(name);
    if (holder === dir) return true;
    if (holder) this.displace(holder);
    if (dir.isHeld) dir.parent?.children?.delete(dir.name);
    dir.cancelRelease?.();
    dir.cancelRelease = undefined;
    dir.parent = parent;
    dir.name = name;
    parent.children.set(name, dir);
    return true;
  }

  /** Takes a directory's name. Unless it gets another within `renameHalfMs` it is released; until then its events have the old name. */
  displace(dir: WatchedDir): void {
    dir.parent?.children?.delete(dir.name);
    dir.cancelRelease?.();
    dir.cancelRelease = after(LIMITS.renameHalfMs, () => void this.release(dir));
  }

  /** Removes a name that no longer exists. Its directory is reported again when it is placed elsewhere. */
  vacate(parent: WatchedDir, name: string): void {
    const holder = parent.children?.get(name);
    if (!holder) return;
    this.displace(holder);
    holder.parent = undefined;
  }

  /** Stops watching a directory and all below. None of their events is reported from now on. */
  async release(dir: WatchedDir): Promise<void> {
    if (dir.isHeld) dir.parent?.children?.delete(dir.name);
    dir.parent = undefined;
    if (dir === this.topDir) this.topDir = undefined;
    const slice = new TimeSlice();
    const waiting = [dir];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      // It may have got a new place meanwhile.
      if (this.relOf(next) !== undefined) continue;
      this.drop(next);
      if (next.children) for (const child of next.children.values()) waiting.push(child);
      const turn = slice.turn();
      if (turn) await turn;
    }
  }

  /** Stops watching all directories. Repeatable. */
  async dispose(): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    this.topDir = undefined;
    const slice = new TimeSlice();
    for (const dir of this.byWd.values()) {
      this.drop(dir);
      const turn = slice.turn();
      if (turn) await turn;
    }
  }

  private drop(dir: WatchedDir): void {
    dir.cancelRelease?.();
    this.byWd.delete(dir.wd);
    this.hub.drop(dir.wd, this.listener);
  }

  private listen(path: string, follow: boolean): { dir: WatchedDir; isNew: boolean } {
    const wd = this.hub.listen(path, follow, this.listener);
    const known = this.byWd.get(wd);
    if (known) return { dir: known, isNew: false };
    if (this.byWd.size >= this.limit) {
      this.hub.drop(wd, this.listener);
      throw Object.assign(new Error("too many directories"), { code: "ENOSPC" });
    }
    const dir = new WatchedDir(wd);
    this.byWd.set(wd, dir);
    return { dir, isNew: true };
  }
}
