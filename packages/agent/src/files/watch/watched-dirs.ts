import { after } from "../../timers.ts";
import { LIMITS } from "../limits.ts";
import { errnoOf } from "../sys/errno.ts";
import { TimeSlice } from "../time-slice.ts";
import type { InotifyHub, Listener } from "./hub.ts";
import { joinRaw } from "./raw-name.ts";

/** One watched directory. */
export class WatchedDir {
  readonly wd: number;
  /** Undefined for the top, and for one that is no longer below it. */
  parent: WatchedDir | undefined;
  name = "";
  /** Watched directories in it; made with the first, since most have none. */
  children: Map<string, WatchedDir> | undefined;
  /** Names that were found when the directory was new: true when told, false while not. */
  found: Map<string, boolean> | undefined;
  /** While it has lost its name: stops the wait for another. */
  cancelRelease: (() => void) | undefined;

  constructor(wd: number) {
    this.wd = wd;
  }

  get isHeld(): boolean {
    return this.parent?.children?.get(this.name) === this;
  }
}

/** Errors of `inotify_add_watch` that say that there is no room, and nothing of the directory. */
const NO_ROOM = new Set(["ENOSPC", "EMFILE"]);

/**
 * The directories that one watch listens to, as a tree. The kernel's number tells which directory it is, whatever it is called by now, so
 * each is here once; its path is made of the names above it, so a rename costs the same however much is below.
 */
export class WatchedDirs {
  private readonly hub: InotifyHub;
  private readonly listener: Listener;
  private readonly root: string;
  private readonly limit: number;
  private readonly byWd = new Map<number, WatchedDir>();
  private topDir: WatchedDir | undefined;
  private isOver = false;

  /** `root`: a raw path, absolute and without a slash at its end. */
  constructor(hub: InotifyHub, listener: Listener, root: string, limit: number) {
    this.hub = hub;
    this.listener = listener;
    this.root = root;
    this.limit = limit;
  }

  /** Watches the root, which is from then on the directory that it is now, wherever it is moved. Throws the kernel's error. */
  open(): WatchedDir {
    const top = this.listen(this.root, true).dir;
    this.topDir = top;
    return top;
  }

  /** Undefined before `open`, and when it is gone. */
  get top(): WatchedDir | undefined {
    return this.topDir;
  }

  /** Whether the root's path still leads to it; what is below can't be looked at by path when not. */
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

  /** The name below the top, empty for the top itself; undefined for what is not below it any more. */
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

  /** Of a name below the top. */
  pathOf(rel: string): string {
    if (rel === "") return this.root;
    return this.root === "/" ? `/${rel}` : `${this.root}/${rel}`;
  }

  /**
   * Asks the kernel which directory has this name now, and puts it there, wherever it was before. Undefined when there is none, or when it
   * can't be watched. Throws `ENOSPC` or `EMFILE` when there is no room.
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

  /** Gives a directory its name; another that had it is displaced. False when it is gone, or would then lie below itself, as a bind mount can. */
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

  /** It has lost its name; without another it is soon watched no longer. Until then what happens in it is told by the one it had. */
  displace(dir: WatchedDir): void {
    dir.parent?.children?.delete(dir.name);
    dir.cancelRelease?.();
    dir.cancelRelease = after(LIMITS.renameHalfMs, () => void this.release(dir));
  }

  /** Nothing has this name any more. The directory that had it is reported again when it is placed elsewhere. */
  vacate(parent: WatchedDir, name: string): void {
    const holder = parent.children?.get(name);
    if (!holder) return;
    this.displace(holder);
    holder.parent = undefined;
  }

  /** Stops to watch a directory and all below. Nothing of them is told from now on. */
  async release(dir: WatchedDir): Promise<void> {
    if (dir.isHeld) dir.parent?.children?.delete(dir.name);
    dir.parent = undefined;
    if (dir === this.topDir) this.topDir = undefined;
    const slice = new TimeSlice();
    const waiting = [dir];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      // It may have found a place again meanwhile.
      if (this.relOf(next) !== undefined) continue;
      this.drop(next);
      if (next.children) for (const child of next.children.values()) waiting.push(child);
      const turn = slice.turn();
      if (turn) await turn;
    }
  }

  /** Stops to watch everything. Repeatable. */
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
