import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** The offset in the file, at which the address pool goes on after a restart; 0 when the file is missing or damaged: the pool begins at its start. */
export function readCursor(file: string): number {
  try {
    return Number.parseInt(readFileSync(file, "utf8"), 10) || 0;
  } catch {
    return 0;
  }
}

export function writeCursor(file: string, offset: number): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, `${offset}\n`);
  renameSync(`${file}.new`, file);
}
