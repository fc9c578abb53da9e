import { type FSWatcher, watch } from "node:fs";
import { join } from "node:path";
import type { Clock } from "@boxyard/core";
import { openProcess } from "../runtime/process.ts";
import type { ProcessIdentity } from "../state/record.ts";
import { close, pidfdEnded } from "../sys/libc.ts";
import type { SandboxCgroup } from "./sandbox-cgroup.ts";

/** Should the kernel's notice ever be missed, the end is found within this time. */
const FALLBACK_MS = 1_000;

/**
 * Resolves when `init` has ended. The kernel tells: `cgroup.events` changes when the last process of a sandbox goes, which is at
 * once after its init (the process namespace ends with it). Costs nothing while the sandbox lives but one check in a second.
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
    // Gone already, or no inotify watch to be had: the fallback does it.
    return undefined;
  }
}
