import { lstatSync, readdirSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { after } from "../../timers.ts";
import { LIMITS } from "../limits.ts";
import { errnoOf, fileError } from "../sys/errno.ts";
import { IN, type InotifyRecord } from "../sys/inotify.ts";
import { temporaryKind } from "../temporary-name.ts";
import { TimeSlice } from "../time-slice.ts";
import type { DirListener, InotifyHub } from "./hub.ts";
import { type Change, changesOf, changesOfReplacement } from "./translate.ts";

/** A change of a name relative to the watched directory; `.` is the directory itself. */
export interface TreeEvent {
  readonly name: string;
  readonly type: Change;
}

export interface TreeWatcher {
  onEvent(event: TreeEvent): void;
  /** Events were lost, or directories can't be watched any more. */
  onLost(): void;
}

/** One watched directory. */
interface Node extends DirListener {
  rel: string;
  wd: number;
  /** Names told already because they were found when the directory was new. */
  fresh: Set<string> | undefined;
}

const join = (dir: string, name: string) => (dir === "" ? name : `${dir}/${name}`);

/**
 * Watches one directory, or all below it. A directory that appears is watched first and then looked into, so that nothing made in between
 * is missed; what both tell is told once.
 */
export class WatchTree {
  private readonly hub: InotifyHub;
  private readonly root: string;
  private readonly recursive: boolean;
  private readonly watcher: TreeWatcher;
  private readonly nodes = new Map<string, Node>();
  /** Our temporary files on their way: cookie of the rename → kind. */
  private readonly replacing = new Map<number, "new" | "old">();
  /** Directories moved away whose new place is not known yet, by cookie; undefined for one that was not watched. */
  private readonly leaving = new Map<number, Node | undefined>();
  private isOver = false;

  constructor(hub: InotifyHub, root: string, recursive: boolean, watcher: TreeWatcher) {
    this.hub = hub;
    this.root = root.replace(/\/+$/, "") || "/";
    this.recursive = recursive;
    this.watcher = watcher;
  }

  /** Resolves when everything is watched. Throws `resource_exhausted` when there are not enough watches, and leaves none behind. */
  async start(): Promise<void> {
    try {
      await this.cover("", false);
    } catch (error) {
      this.dispose();
      throw watchFailure(this.root, error);
    }
  }

  dispose(): void {
    this.isOver = true;
    for (const node of this.nodes.values()) this.hub.drop(node.wd, node);
    this.nodes.clear();
  }

  /** Watches what appeared while events were lost. */
  async resync(): Promise<void> {
    if (this.recursive) await this.cover("", false);
  }

  private pathOf(rel: string): string {
    if (rel === "") return this.root;
    return this.root === "/" ? `/${rel}` : `${this.root}/${rel}`;
  }

  /** Watches a directory and, if wanted, everything below. `tell`: what is found is new to the client. */
  private async cover(rel: string, tell: boolean): Promise<void> {
    const waiting = [rel];
    const slice = new TimeSlice();
    for (let next = waiting.pop(); next !== undefined && !this.isOver; next = waiting.pop()) {
      const isNew = this.watch(next);
      if (this.recursive && (isNew || !tell)) this.look(next, tell, waiting);
      const turn = slice.turn();
      if (turn) await turn;
    }
  }

  /**
   * True when the directory was not watched before. A name that is known may name another directory by now, so the kernel is asked each
   * time: it gives one directory one number. Something that is gone again or no directory is passed over, but for the root.
   */
  private watch(rel: string): boolean {
    const known = this.nodes.get(rel);
    // The root is the directory that it was at the start, wherever it is moved.
    if (known && rel === "") return false;
    if (!known && this.nodes.size >= LIMITS.watchedDirs) throw Object.assign(new Error("too many directories"), { code: "ENOSPC" });
    const node: Node = {
      rel,
      wd: -1,
      fresh: undefined,
      onRecord: (record) => this.receive(node, record),
      onIgnored: () => this.nodes.get(node.rel) === node && this.nodes.delete(node.rel),
      onLost: () => node.rel === "" && this.watcher.onLost(),
    };
    try {
      node.wd = this.hub.listen(this.pathOf(rel), rel === "", node);
    } catch (error) {
      const errno = errnoOf(error);
      if (rel !== "" && errno !== "ENOSPC" && errno !== "EMFILE") return false;
      throw error;
    }
    if (known?.wd === node.wd) {
      this.hub.drop(node.wd, node);
      this.stay(known);
      return false;
    }
    if (known) this.forget(rel);
    this.nodes.set(rel, node);
    return true;
  }

  /** Finds what is in a directory now. No turn is given between looking and telling, so no later event can overtake. */
  private look(rel: string, tell: boolean, waiting: string[]): void {
    const node = this.nodes.get(rel);
    if (!node) return;
    let found: string[];
    try {
      found = readdirSync(this.pathOf(rel));
    } catch {
      return;
    }
    if (tell) this.remember(node, found);
    for (const name of found) {
      if (temporaryKind(name)) continue;
      const stat = lstatSync(this.pathOf(join(rel, name)), { throwIfNoEntry: false });
      if (!stat) continue;
      if (tell)
        this.emit(join(rel, name), stat.isFile() && stat.size > 0 ? ["EVENT_TYPE_CREATE", "EVENT_TYPE_WRITE"] : ["EVENT_TYPE_CREATE"]);
      if (stat.isDirectory()) waiting.push(join(rel, name));
    }
  }

  private remember(node: Node, names: readonly string[]): void {
    node.fresh = new Set(names);
    after(LIMITS.freshNamesMs, () => {
      node.fresh = undefined;
    });
  }

  private emit(name: string, changes: readonly Change[]): void {
    for (const type of changes) this.watcher.onEvent({ name, type });
  }

  private receive(node: Node, record: InotifyRecord): void {
    const { mask, name } = record;
    if (name === "") {
      // Of a directory below the root its parent tells the same.
      if (node.rel === "") this.emit(".", changesOf(mask));
      return;
    }
    const rel = join(node.rel, name);
    const isDir = (mask & IN.ISDIR) !== 0;
    if (this.isOwn(record)) return;
    const kind = this.replacing.get(record.cookie);
    if (mask & IN.MOVED_TO && kind) {
      this.replacing.delete(record.cookie);
      this.emit(rel, changesOfReplacement(kind, isDir));
    } else if (mask & (IN.CREATE | IN.MOVED_TO) && node.fresh?.has(name)) node.fresh.delete(name);
    else this.emit(rel, changesOf(mask));
    if (mask & (IN.DELETE | IN.MOVED_FROM)) node.fresh?.delete(name);
    if (isDir && this.recursive) this.follow(record, rel);
  }

  /** Our temporary files are not told; their renames are remembered until the second half comes, which is the next record or nearly. */
  private isOwn(record: InotifyRecord): boolean {
    const kind = temporaryKind(record.name);
    if (!kind) return false;
    if (record.mask & IN.MOVED_FROM) {
      this.replacing.set(record.cookie, kind);
      after(LIMITS.renameHalfMs, () => this.replacing.delete(record.cookie));
    }
    return true;
  }

  /** Keeps watches where the directories are. */
  private follow(record: InotifyRecord, rel: string): void {
    const { cookie } = record;
    if (record.mask & IN.MOVED_TO && this.leaving.has(cookie)) {
      const old = this.leaving.get(cookie);
      this.leaving.delete(cookie);
      if (old && this.isHeld(old)) this.relocate(old.rel, rel);
      // Its old name went to another directory meanwhile. What is in it is not new to the client.
      else this.cover(rel, false).catch(() => this.watcher.onLost());
    } else if (record.mask & (IN.CREATE | IN.MOVED_TO)) {
      this.cover(rel, true).catch(() => this.watcher.onLost());
    } else if (record.mask & IN.MOVED_FROM) {
      const node = this.nodes.get(rel);
      this.leaving.set(cookie, node);
      after(LIMITS.renameHalfMs, () => this.leaving.delete(cookie) && node && this.isHeld(node) && this.forget(node.rel));
    }
  }

  /** Whether it is still the one of its name. */
  private isHeld(node: Node): boolean {
    return this.nodes.get(node.rel) === node;
  }

  /** It was moved away and is back. */
  private stay(node: Node): void {
    for (const [cookie, other] of this.leaving) if (other === node) this.leaving.delete(cookie);
  }

  private below(rel: string): Node[] {
    return [...this.nodes.values()].filter((node) => node.rel === rel || node.rel.startsWith(`${rel}/`));
  }

  private relocate(from: string, to: string): void {
    if (from === to) return;
    // An empty directory that was replaced, perhaps held open by somebody.
    this.forget(to);
    for (const node of this.below(from)) {
      this.nodes.delete(node.rel);
      node.rel = to + node.rel.slice(from.length);
      this.nodes.set(node.rel, node);
    }
  }

  private forget(rel: string): void {
    for (const node of this.below(rel)) {
      this.nodes.delete(node.rel);
      this.hub.drop(node.wd, node);
    }
  }
}

function watchFailure(path: string, error: unknown): AppError {
  const errno = errnoOf(error);
  if (errno !== "ENOSPC" && errno !== "EMFILE") return fileError(`watch '${path}'`, error);
  const message = `cannot watch '${path}': the sandbox has no inotify ${errno === "ENOSPC" ? "watches" : "instances"} left`;
  return new AppError("resource_exhausted", message, { reason: "too_many_watches", cause: error });
}
