import { readFileSync } from "node:fs";

/** True when something is mounted exactly at `path`. */
export function isMountPoint(path: string): boolean {
  // The kernel writes blanks, tabs, newlines and backslashes of a path in octal.
  const escaped = path.replace(/[ \t\n\\]/g, (c) => `\\${c.charCodeAt(0).toString(8).padStart(3, "0")}`);
  return readFileSync("/proc/self/mountinfo", "utf8").includes(` ${escaped} `);
}
