import { readFileSync, statSync } from "node:fs";
import { AppError } from "@boxyard/core";

const MINOR_BITS = 8;

/** `7:0`: major and minor number of the disk that is mounted at `mountPoint` (new_decode_dev of linux/kdev_t.h). */
export function diskOf(mountPoint: string): string {
  const line = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .findLast((entry) => entry.split(" ")[4] === mountPoint);
  const source = line?.split(" - ")[1]?.split(" ")[1];
  if (source === undefined) throw new AppError("internal", `Nothing is mounted at ${mountPoint}`, { reason: "no_pool" });
  const { rdev } = statSync(source);
  const minor = (rdev & 0xff) | ((rdev >>> 12) & ~0xff);
  return `${(rdev >>> MINOR_BITS) & 0xfff}:${minor}`;
}
