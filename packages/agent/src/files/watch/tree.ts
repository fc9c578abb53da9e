import { type Dirent, lstatSync, readdir, readdirSync, type Stats } from "node:fs";
import { AppError, withoutTrailing } from "@boxyard/core";
import { after } from "../../timers.ts";
import { LIMITS } from "../limits.ts";
import { errnoOf, fileError } from "../sys/errno.ts";
import { IN, type InotifyRecord } from "../sys/inotify.ts";
import { temporaryKind } from "../temporary-name.ts";
import { TimeSlice } from "../time-slice.ts";
import type { InotifyHub, Listener } from "./hub.ts";
import { joinRaw, pathOfRaw, rawOf, textOf } from "./raw-name.ts";
import { type Change, changesOf, changesOfReplacement } from "./translate.ts";
import { type WatchedDir, WatchedDirs } from "./watched-dirs.ts";

/** A change of a name relative to the watched directory; `.` is the directory itself. */
export interface TreeEvent {
  readonly name: string;
  readonly type: Change;
}

export interface TreeWatcher {
  onEvent(event: TreeEvent): void;
  /** Events were lost. The whole tree is watched again; later changes are reported. */
  onLost(): void;
  /** The watch has failed, and reports nothing more. */
  onFailed(error: AppError): void;
}

/**
 * Why a directory is read. `start`: the watch begins. `tell`: the directory is new, and its names are reported. `again`: events were lost, so what
 * is known about it may be wrong.
 */
type Look = "start" | "tell" | "again";

/**
 * Watches one directory, or a whole tree. A new directory is first watched and then read, so that no name made in between is missed; a name that is
 * found in both ways is reported once.
 */
export class WatchTree implements Listener {
  private readonly root: string;
  private readonly recursive: boolean;
  private readonly watcher: TreeWatcher;
  private readonly dirs: WatchedDirs;
  /** The agent's temporary files that are being renamed: cookie of the rename → kind. */
  private readonly replacing = new Map<number, "new" | "old">();
  /** Directories moved away whose new place is not known yet, by cookie. */
  private readonly leaving = new Map<number, WatchedDir>();
  private isOver = false;
  /** Events were lost after the tree was last read. */
  private isBehind = false;
  private isCatchingUp = false;
  /** Reads of new directories that have not ended. */
  private readonly covering = new Set<Promise<void>>();

  constructor(hub: InotifyHub, root: string, recursive: boolean, watcher: TreeWatcher, maxDirs: number = LIMITS.watchedDirs) {
    this.root = withoutTrailing(root, "/") || "/";
    this.recursive = recursive;
    this.watcher = watcher;
    this.dirs = new WatchedDirs(hub, this, rawOf(this.root), maxDirs);
  }

  /** Resolves when the whole tree is watched. Throws `resource_exhausted` when there are not enough watches; then none is left. */
  async start(): Promise<void> {
    try {
      const top = this.dirs.open();
      if (this.recursive) await this.walk(top, "start");
    } catch (error) {
      this.dispose();
      throw watchFailure(this.root, error);
    }
  }

  /** Resolves when the names in all directories that are new by now are reported. */
  async settled(): Promise<void> {
    await Promise.all(this.covering);
  }

  dispose(): void {
    this.isOver = true;
    void this.dirs.dispose();
  }

  onRecord(record: InotifyRecord): void {
    const dir = this.dirs.get(record.wd);
    const rel = dir && this.dirs.relOf(dir);
    if (!dir || rel === undefined) return;
    const { mask, name } = record;
    if (name === "") {
      // For a directory below the root its parent has the same event.
      if (rel === "") this.emit(".", changesOf(mask));
      return;
    }
    if (this.isOwn(record)) return;
    if (dir.found?.get(name) === false) this.tellFound(dir, name, "anyway");
    this.tell(record, joinRaw(rel, name), dir);
    if (mask & (IN.DELETE | IN.MOVED_FROM)) dir.found?.delete(name);
    if (this.recursive && mask & IN.ISDIR) this.follow(record, dir);
  }

  onIgnored(wd: number): void {
    const dir = this.dirs.get(wd);
    if (dir) void this.dirs.release(dir);
  }

  onLost(): void {
    this.isBehind = true;
    if (!this.isCatchingUp) this.catchUp().catch((error) => this.onFailed(error));
  }

  onFailed(error: unknown): void {
    if (this.isOver) return;
    this.dispose();
    this.watcher.onFailed(watchFailure(this.root, error));
  }

  /** Reads the tree again, then reports the loss: a client that lists the tree after that misses nothing. */
  private async catchUp(): Promise<void> {
    this.isCatchingUp = true;
    try {
      while (this.isBehind && !this.isOver) {
        this.isBehind = false;
        if (this.recursive && this.dirs.top && this.dirs.isInPlace) await this.walk(this.dirs.top, "again");
        if (!this.isOver) this.watcher.onLost();
      }
    } finally {
      this.isCatchingUp = false;
    }
  }

  /** Watches everything below a watched directory. */
  private async walk(dir: WatchedDir, look: Look): Promise<void> {
    const waiting: Step[] = [];
    const slice = new TimeSlice();
    await this.lookInto(dir, look, waiting, slice);
    for (let step = waiting.pop(); step && !this.isOver; step = waiting.pop()) {
      const placed = this.dirs.place(step.parent, step.name);
      if (placed && (placed.isNew || look === "again")) await this.lookInto(placed.dir, look, waiting, slice);
      else if (!placed && look === "again") this.dirs.vacate(step.parent, step.name);
      const turn = slice.turn();
      if (turn) await turn;
    }
  }

  /** Reads a directory, and adds the names that may be directories to `waiting`. */
  private async lookInto(dir: WatchedDir, look: Look, waiting: Step[], slice: TimeSlice): Promise<void> {
    const rel = this.dirs.relOf(dir);
    if (rel === undefined) return;
    const path = this.dirs.pathOf(rel);
    // Names that are reported must be known before the next record, so they are read synchronously. Others are, too, if the directory is small.
    const isNow = look === "tell" || (statOf(path)?.size ?? 0) <= LIMITS.smallDirBytes;
    const entries = isNow ? entriesNow(path) : await entriesOf(path);
    if (look === "tell") dir.found = new Map(entries.map(({ name }) => [name, false]));
    if (look === "again") for (const step of missingFrom(entries, dir)) waiting.push(step);
    for (const entry of entries) {
      const { name } = entry;
      if (dir.found?.get(name) === false) this.tellFound(dir, name, "if there");
      if (mayBeDirectory(entry)) waiting.push({ parent: dir, name });
      const turn = slice.turn();
      if (turn) await turn;
      if (this.isOver) return;
    }
    if (look === "tell") this.forgetFound(dir);
  }

  /** Reports a name that was found in a new directory; with `anyway` also one that is gone by now. */
  private tellFound(dir: WatchedDir, name: string, when: "if there" | "anyway"): void {
    const rel = this.dirs.relOf(dir);
    if (rel === undefined || temporaryKind(name)) return;
    const full = joinRaw(rel, name);
    const stat = statOf(this.dirs.pathOf(full));
    if (!stat && when === "if there") return;
    dir.found?.set(name, true);
    this.emit(full, stat?.isFile() && stat.size > 0 ? ["EVENT_TYPE_CREATE", "EVENT_TYPE_WRITE"] : ["EVENT_TYPE_CREATE"]);
  }

  /** Forgets the found names after `freshNamesMs`: by then the kernel's events for them have arrived. */
  private forgetFound(dir: WatchedDir): void {
    const { found } = dir;
    after(LIMITS.freshNamesMs, () => {
      if (dir.found === found) dir.found = undefined;
    });
  }

  /** `name`: raw. */
  private emit(name: string, changes: readonly Change[]): void {
    for (const type of changes) this.watcher.onEvent({ name: textOf(name), type });
  }

  private tell({ mask, cookie, name }: InotifyRecord, full: string, dir: WatchedDir): void {
    const kind = mask & IN.MOVED_TO ? this.replacing.get(cookie) : undefined;
    if (kind) {
      this.replacing.delete(cookie);
      this.emit(full, changesOfReplacement(kind, (mask & IN.ISDIR) !== 0));
      return;
    }
    // The record was queued before the directory was read: a name that exists cannot be created again without being removed.
    if (mask & IN.CREATE && dir.found?.delete(name)) return;
    this.emit(full, changesOf(mask));
  }

  /** True for a temporary file of the agent, which is not reported. Remembers its rename until the second record of that. */
  private isOwn(record: InotifyRecord): boolean {
    const kind = temporaryKind(record.name);
    if (!kind) return false;
    if (record.mask & IN.MOVED_FROM) {
      this.replacing.set(record.cookie, kind);
      after(LIMITS.renameHalfMs, () => this.replacing.delete(record.cookie));
    }
    return true;
  }

  /** Adapts the watched directories to a directory that was made, moved or removed. */
  private follow({ mask, cookie, name }: InotifyRecord, dir: WatchedDir): void {
    if (mask & (IN.CREATE | IN.MOVED_TO)) {
      const moved = this.leaving.get(cookie);
      this.leaving.delete(cookie);
      const covered = this.cover(dir, name, moved)
        .catch((error) => this.onFailed(error))
        .finally(() => this.covering.delete(covered));
      this.covering.add(covered);
    } else if (mask & IN.MOVED_FROM) {
      const child = dir.children?.get(name);
      if (!child) return;
      this.leaving.set(cookie, child);
      after(LIMITS.renameHalfMs, () => this.leaving.delete(cookie));
      this.dirs.displace(child);
    }
  }

  private async cover(parent: WatchedDir, name: string, moved: WatchedDir | undefined): Promise<void> {
    const placed = this.dirs.place(parent, name);
    if (placed?.isNew) await this.walk(placed.dir, "tell");
    // The directory was renamed again meanwhile; a later record has its new name.
    else if (!placed && moved && !moved.isHeld) this.dirs.attach(moved, parent, name);
  }
}

/** A name in a watched directory that may be a directory. */
interface Step {
  readonly parent: WatchedDir;
  readonly name: string;
}

const WITH_TYPES = { withFileTypes: true, encoding: "latin1" } as const;

/** Reads a directory synchronously; no entries when it is gone. The path and the names are raw. */
function entriesNow(path: string): Dirent[] {
  try {
    return readdirSync(pathOfRaw(path), WITH_TYPES);
  } catch {
    return [];
  }
}

function entriesOf(path: string): Promise<Dirent[]> {
  return new Promise((resolve) => readdir(pathOfRaw(path), WITH_TYPES, (error, entries) => resolve(error ? [] : entries)));
}

/** `path`: raw. */
function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(pathOfRaw(path), { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Where the file system does not report the type, the attempt to watch it will. */
function mayBeDirectory(entry: Dirent): boolean {
  return entry.isDirectory() || !(entry.isFile() || entry.isSymbolicLink());
}

/** Watched children of a directory whose names are no longer in it. */
function missingFrom(entries: readonly Dirent[], parent: WatchedDir): Step[] {
  const names = new Set(entries.map(({ name }) => name));
  return [...(parent.children?.keys() ?? [])].filter((name) => !names.has(name)).map((name) => ({ parent, name }));
}

function watchFailure(path: string, error: unknown): AppError {
  const errno = errnoOf(error);
  if (errno !== "ENOSPC" && errno !== "EMFILE") return fileError(`watch '${path}'`, error);
  const message = `cannot watch '${path}': the sandbox has no inotify ${errno === "ENOSPC" ? "watches" : "instances"} left`;
  return new AppError("resource_exhausted", message, { reason: "too_many_watches", cause: error });
}
