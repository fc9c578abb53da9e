import { IN, Inotify, type InotifyRecord } from "../sys/inotify.ts";

/** Every change of names in a directory, and of the directory itself. Links are followed only at a watch's own path. */
const MASK = IN.CREATE | IN.MODIFY | IN.ATTRIB | IN.DELETE | IN.MOVED_FROM | IN.MOVED_TO | IN.DELETE_SELF | IN.MOVE_SELF;

/** Receives the records of the directories that it listens to. */
export interface Listener {
  onRecord(record: InotifyRecord): void;
  /** A directory is watched no longer: it is gone, or unmounted. */
  onIgnored(wd: number): void;
  /** Events were lost, anywhere. */
  onLost(): void;
  /** Reading failed: no record comes any more. */
  onFailed(error: unknown): void;
}

/**
 * The agent's one inotify instance, shared by all watches, because the number of instances is limited. It exists while there are listeners. The
 * kernel has one watch per directory for all listeners, so this class counts them.
 */
export class InotifyHub {
  private inotify: Inotify | undefined;
  private readonly listeners = new Map<number, Set<Listener>>();

  /**
   * Starts to listen to a directory, by its raw path; returns the number for `drop`, the same for the same directory under any name.
   * Listening again changes nothing. Throws the kernel's error.
   */
  listen(path: string, follow: boolean, listener: Listener): number {
    this.inotify ??= Inotify.open(
      (record) => this.dispatch(record),
      (error) => this.fail(error),
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

  /** Resolves when listeners have received every earlier event. */
  async drained(): Promise<void> {
    await this.inotify?.drained();
  }

  drop(wd: number, listener: Listener): void {
    const set = this.listeners.get(wd);
    if (!set?.delete(listener) || set.size > 0) return;
    this.listeners.delete(wd);
    this.inotify?.remove(wd);
    this.closeIfIdle();
  }

  private dispatch(record: InotifyRecord): void {
    if (record.mask & IN.Q_OVERFLOW) {
      for (const listener of this.everyone()) listener.onLost();
      return;
    }
    const set = this.listeners.get(record.wd);
    if (!set) return;
    if (record.mask & IN.IGNORED) {
      this.listeners.delete(record.wd);
      for (const listener of set) listener.onIgnored(record.wd);
      this.closeIfIdle();
      return;
    }
    for (const listener of set) listener.onRecord(record);
  }

  private everyone(): Set<Listener> {
    const everyone = new Set<Listener>();
    for (const set of this.listeners.values()) for (const listener of set) everyone.add(listener);
    return everyone;
  }

  /** Reading the instance failed: reports it to all listeners. */
  private fail(error: unknown): void {
    const everyone = this.everyone();
    this.listeners.clear();
    this.closeIfIdle();
    for (const listener of everyone) listener.onFailed(error);
  }

  private closeIfIdle(): void {
    if (this.listeners.size > 0) return;
    this.inotify?.close();
    this.inotify = undefined;
  }
}
