import { closeSync, fstatSync, readSync } from "node:fs";
import { openForReading } from "../sys/open-file.ts";

/**
 * Reads a small text file that programs of the sandbox may have replaced by anything: a pipe, a device, a link to one, a huge file. Undefined
 * unless the path leads to a regular file; returns at most the first `maxBytes`. Never blocks.
 */
export function readSystemFile(path: string, maxBytes: number): string | undefined {
  let fd: number;
  try {
    fd = openForReading(path);
  } catch {
    return undefined;
  }
  try {
    if (!fstatSync(fd).isFile()) return undefined;
    const buffer = Buffer.allocUnsafe(Math.min(maxBytes, 65_536));
    const parts: string[] = [];
    for (let total = 0; total < maxBytes; ) {
      const count = readSync(fd, buffer, 0, Math.min(buffer.length, maxBytes - total), null);
      if (count === 0) break;
      parts.push(buffer.toString("latin1", 0, count));
      total += count;
    }
    return Buffer.from(parts.join(""), "latin1").toString("utf8");
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}
