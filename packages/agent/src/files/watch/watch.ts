import { statfsSync, statSync } from "node:fs";
import { AppError, withoutTrailing } from "@boxyard/core";
import type { FilesystemEvent, WatchDirRequest } from "@boxyard/spec/agent";
import type { Users } from "../../contracts.ts";
import { after } from "../../timers.ts";
import { EntryReader } from "../entry-info.ts";
import { LIMITS } from "../limits.ts";
import { guarded } from "../sys/errno.ts";
import { EventQueue, type QueueBudget } from "./event-queue.ts";
import { InotifyHub } from "./hub.ts";
import { type TreeEvent, WatchTree } from "./tree.ts";

/** File systems whose changes may be made on another machine, which inotify does not report: NFS, SMB, CIFS, SMB2, FUSE. */
const NETWORK = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x65735546]);
/** Events of entries that no longer exist under the name. */
const GONE = new Set(["EVENT_TYPE_REMOVE", "EVENT_TYPE_RENAME"]);

/** One client's watch. */
export interface Watch {
  readonly queue: EventQueue;
  /** The wire form of an event, with the current entry if the client asked for entries. */
  present(event: TreeEvent): FilesystemEvent;
  /** Resolves when all earlier changes are in the queue, or after two seconds. */
  caughtUp(): Promise<void>;
  /** Repeatable. */
  dispose(): void;
}

function checkPath(path: string, allowNetworkMounts: boolean): void {
  guarded(`watch '${path}'`, () => {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (!stat) throw new AppError("not_found", `path ${path} not found`, { reason: "not_found" });
    if (!stat.isDirectory()) throw new AppError("invalid_argument", `path ${path} not a directory`, { reason: "not_a_directory" });
    // Unsigned in the kernel, signed in the runtime.
    if (!allowNetworkMounts && NETWORK.has(statfsSync(path).type >>> 0)) {
      throw new AppError("invalid_argument", `cannot watch path on network filesystem: ${path}`, { reason: "network_filesystem" });
    }
  });
}

/** Resolves with `work`, or after `ms`: in a tree that changes all the time `work` might not end. */
function atMost(ms: number, work: Promise<void>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const cancel = after(ms, resolve);
  work.then(resolve, reject).finally(cancel);
  return promise;
}

/** All watches of an agent. They share one inotify instance and the bounds on events. */
export class Watches {
  private readonly hub = new InotifyHub();
  private readonly budget: QueueBudget = { bytes: 0 };
  private readonly users: Users;
  private open = 0;

  constructor(users: Users) {
    this.users = users;
  }

  /**
   * Watches a directory by its absolute path. Aborting ends the attempt. Throws `not_found`, `invalid_argument`,
   * `resource_exhausted`, the signal's reason.
   */
  async watch(path: string, request: Omit<WatchDirRequest, "path">, signal: AbortSignal): Promise<Watch> {
    signal.throwIfAborted();
    checkPath(path, request.allowNetworkMounts);
    if (this.open >= LIMITS.watchers) {
      throw new AppError("resource_exhausted", `more than ${LIMITS.watchers} watches at once`, { reason: "too_many_watches" });
    }
    this.open++;
    const queue = new EventQueue(this.budget);
    const tree = new WatchTree(this.hub, path, request.recursive, {
      onEvent: (event) => queue.push(event),
      onLost: () => queue.lose(),
      onFailed: (error) => queue.fail(error),
    });
    let isOpen = true;
    const dispose = () => {
      if (!isOpen) return;
      isOpen = false;
      this.open--;
      tree.dispose();
      queue.drop();
    };
    signal.addEventListener("abort", dispose, { once: true });
    try {
      await tree.start();
      signal.throwIfAborted();
    } catch (error) {
      dispose();
      throw error;
    } finally {
      signal.removeEventListener("abort", dispose);
    }
    const caughtUp = async () => {
      await this.hub.drained();
      await tree.settled();
    };
    return {
      queue,
      dispose,
      caughtUp: () => atMost(LIMITS.catchUpMs, caughtUp()),
      present: (event) => this.present(path, event, request.includeEntry),
    };
  }

  private present(root: string, { name, type }: TreeEvent, includeEntry: boolean): FilesystemEvent {
    if (!includeEntry || GONE.has(type)) return { name, type };
    try {
      const path = name === "." ? root : `${withoutTrailing(root, "/")}/${name}`;
      const entry = new EntryReader(this.users).read(path);
      return entry ? { name, type, entry } : { name, type };
    } catch {
      return { name, type };
    }
  }
}
