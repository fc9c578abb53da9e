import { writeFileSync } from "node:fs";
import { ChildProgram } from "../sys/child.ts";
import { CLONE, O, open } from "../sys/libc.ts";
import { RANGE_SIZE } from "./uid-ranges.ts";

/**
 * A descriptor of a user namespace that maps ids 0 to 65,535 to `base` and up: what an idmapped mount takes its mapping from. Held by a
 * child for a moment (0.2 ms), then by the descriptor alone, which the caller closes.
 */
export function openUserNamespace(base: number): number {
  const holder = ChildProgram.hold(CLONE.NEWUSER);
  try {
    for (const map of ["uid_map", "gid_map"]) writeFileSync(`/proc/${holder.pid}/${map}`, `0 ${base} ${RANGE_SIZE}`);
    return open(`/proc/${holder.pid}/ns/user`, O.RDONLY);
  } finally {
    holder.release();
  }
}
