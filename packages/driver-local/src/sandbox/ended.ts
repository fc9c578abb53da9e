import type { Clock } from "@boxyard/core";
import type { SandboxCgroup } from "../cgroup/sandbox-cgroup.ts";
import { openProcess } from "../runtime/process.ts";
import type { ProcessIdentity } from "../state/record.ts";
import { close, pidfdEnded } from "../sys/libc.ts";
import { Notice } from "../sys/notice.ts";

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
  const changed = new Notice();
  // The watch is set before the first check, so no change falls between the two.
  const endWatch = cgroup.onChange(changed.give);
  try {
    while (!pidfdEnded(pidfd)) await changed.within(FALLBACK_MS, clock, signal);
  } finally {
    endWatch?.();
    close(pidfd);
  }
}
