import { readFileSync } from "node:fs";
import { plainField } from "@boxyard/core/mountinfo";

/** Whether something is mounted at a path or below it. The path is absolute and real, in bytes. */
export function holdsMount(path: Buffer): boolean {
  // One character per byte, so that names that are not UTF-8 can be compared.
  const wanted = path.toString("latin1");
  return readFileSync("/proc/self/mountinfo", "latin1")
    .split("\n")
    .some((line) => isAtOrBelow(plainField(line.split(" ", 5)[4] ?? ""), wanted));
}

function isAtOrBelow(mountPoint: string, path: string): boolean {
  return mountPoint === path || mountPoint.startsWith(`${path}/`);
}
