import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** The file that says where the circle of addresses goes on after a restart. */

/** The noted offset; 0 when there is no note or a damaged one: the circle begins anew. */
export function readCursor(file: string): number {
  try {
    return Number.parseInt(readFileSync(file, "utf8"), 10);
  } catch {
    return 0;
  }
}

export function writeCursor(file: string, offset: number): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, `${offset}\n`);
  renameSync(`${file}.new`, file);
}
