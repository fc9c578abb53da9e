import { readFileSync } from "node:fs";

/** Whether something is mounted at a path or below it. The path is absolute and real, in bytes. */
export function holdsMount(path: Buffer): boolean {
  // One character per byte, so that names that are not UTF-8 can be compared.
  const wanted = path.toString("latin1");
  return readFileSync("/proc/self/mountinfo", "latin1")
    .split("\n")
    .some((line) => isAtOrBelow(plain(line.split(" ", 5)[4] ?? ""), wanted));
}

function isAtOrBelow(mountPoint: string, path: string): boolean {
  return mountPoint === path || mountPoint.startsWith(`${path}/`);
}

/** Decodes `\ooo`, by which mountinfo writes space, tab, line end and backslash. */
function plain(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
}
