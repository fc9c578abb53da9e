import { writeFileSync } from "node:fs";
import { ChildProgram } from "../sys/child.ts";
import { CLONE, O, open, syscall } from "../sys/libc.ts";
import { reap } from "../sys/reaper.ts";
import { RANGE_SIZE } from "./uid-ranges.ts";

const SIGKILL = 9;

/**
 * A descriptor of a user namespace that maps ids 0 to 65,535 to `base` and up: what an idmapped mount takes its mapping from. Held by a
 * child for a moment (0.2 ms), then by the descriptor alone, which the caller closes.
 */
export function openUserNamespace(base: number): number {
  const holder = new ChildProgram();
  holder.call("ppoll", [null, 0, null, null, 8]); // waits for ever
  const pid = holder.hold(CLONE.NEWUSER);
  try {
    for (const map of ["uid_map", "gid_map"]) writeFileSync(`/proc/${pid}/${map}`, `0 ${base} ${RANGE_SIZE}`);
    return open(`/proc/${pid}/ns/user`, O.RDONLY);
  } finally {
    syscall("kill", [pid, SIGKILL]);
    reap(pid);
  }
}
