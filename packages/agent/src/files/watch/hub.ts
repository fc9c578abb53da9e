import { IN, Inotify, type InotifyRecord } from "../sys/inotify.ts";

/** Everything that happens to names in a directory, and to the directory itself. Links are followed only at a watch's own path. */
const MASK = IN.CREATE | IN.MODIFY | IN.ATTRIB | IN.DELETE | IN.MOVED_FROM | IN.MOVED_TO | IN.DELETE_SELF | IN.MOVE_SELF;

/** Somebody who wants to know about one directory. */
export interface DirListener {
  onRecord(record: InotifyRecord): void;
  /** The directory is watched no longer: it is gone, or unmounted. */
  onIgnored(): void;
  /** Events were lost, anywhere. */
  onLost(): void;
}

/**
 * The agent's one inotify instance, shared by all watches, since a sandbox has few of them. It is there while anybody listens. The kernel
 * has one watch per directory however many listen, so listeners are counted here.
 */
export class InotifyHub {
  private inotify: Inotify | undefined;
  private readonly listeners = new Map<number, Set<DirListener>>();

  /** Starts to listen to a directory; returns the number for `drop`. Throws the kernel's error. */
  listen(path: string, follow: boolean, listener: DirListener): number {
    this.inotify ??= Inotify.open(
      (record) => this.dispatch(record),
      () => this.fail(),
    );
    try {
      const wd = this.inotify.add(path, MASK | (follow ? 0 : IN.DONT_FOLLOW));
      const set = this.listeners.get(wd);
      if (set) set.add(listener);
      else this.listeners.set(wd, new Set([listener]));
      return wd;
    } finally {
      this.closeIfIdle();
    }
  }

  drop(wd: number, listener: DirListener): void {
    const set = this.listeners.get(wd);
    if (!set?.delete(listener) || set.size > 0) return;
    this.listeners.delete(wd);
    this.inotify?.remove(wd);
    this.closeIfIdle();
  }

  private dispatch(record: InotifyRecord): void {
    if (record.mask & IN.Q_OVERFLOW) this.tellLost();
    const set = this.listeners.get(record.wd);
    if (!set) return;
    if (record.mask & IN.IGNORED) {
      this.listeners.delete(record.wd);
      for (const listener of set) listener.onIgnored();
      this.closeIfIdle();
      return;
    }
    // A listener may end itself or others while it listens.
    for (const listener of [...set]) if (set.has(listener)) listener.onRecord(record);
  }

  private tellLost(): void {
    const everyone = new Set([...this.listeners.values()].flatMap((set) => [...set]));
    for (const listener of everyone) listener.onLost();
  }

  /** Reading the instance failed: nobody may wait in vain. */
  private fail(): void {
    this.tellLost();
    const sets = [...this.listeners.values()];
    this.listeners.clear();
    for (const set of sets) for (const listener of set) listener.onIgnored();
    this.closeIfIdle();
  }

  private closeIfIdle(): void {
    if (this.listeners.size > 0) return;
    this.inotify?.close();
    this.inotify = undefined;
  }
}
