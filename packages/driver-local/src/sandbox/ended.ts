import { type FSWatcher, watch } from "node:fs";
import { join } from "node:path";
import type { Clock } from "@boxyard/core";
import type { SandboxCgroup } from "../cgroup/sandbox-cgroup.ts";
import { openProcess } from "../runtime/process.ts";
import type { ProcessIdentity } from "../state/record.ts";
import { close, pidfdEnded } from "../sys/libc.ts";

/** When a notification of the kernel is missed, the end is found within this time. */
const FALLBACK_MS = 1_000;

/**
 * Resolves when `init` has ended. The kernel notifies: `cgroup.events` changes when the last process of a sandbox ends, which is right
 * after its init (the process namespace ends with it). While the sandbox lives, waiting costs one check a second.
 */
export async function waitUntilEnded(init: ProcessIdentity, cgroup: SandboxCgroup, clock: Clock, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const pidfd = openProcess(init);
  if (pidfd === undefined) return;
  let watcher: FSWatcher | undefined;
  try {
    let wake = () => {};
    watcher = watchEvents(cgroup, () => wake());
    while (!pidfdEnded(pidfd)) {
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      // The watch was set before this check, so no change falls between the two.
      if (pidfdEnded(pidfd)) return;
      const timer = new AbortController();
      const late = clock.sleep(FALLBACK_MS, AbortSignal.any([signal, timer.signal]));
      try {
        await Promise.race([changed, late]);
      } finally {
        timer.abort();
        late.catch(() => {});
      }
      signal.throwIfAborted();
    }
  } finally {
    watcher?.close();
    close(pidfd);
  }
}

function watchEvents(cgroup: SandboxCgroup, onChange: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(join(cgroup.top, "cgroup.events"), onChange);
    watcher.on("error", () => {});
    return watcher;
  } catch {
    // The cgroup is gone, or no inotify watch is free: the check every second finds the end.
    return undefined;
  }
}
