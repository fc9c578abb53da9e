import { chmodSync, closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";

/**
 * Replaces a file atomically: readers see the old content or the new one, never a part, also after a crash. A file that has this content and mode
 * already is not written, so that a machine with a full disk can be set up again. A failure leaves no temporary file.
 */
export function writeWhole(path: string, text: string, mode = 0o644): void {
  if (isWritten(path, text, mode)) return;
  const aside = `${path}.new`;
  try {
    const fd = openSync(aside, "w", mode);
    try {
      // Not `writeSync`, which writes only a part to a nearly full disk and does not throw.
      writeFileSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    chmodSync(aside, mode);
    renameSync(aside, path);
  } catch (error) {
    rmSync(aside, { force: true });
    throw error;
  }
}

const PERMISSIONS = 0o7777;

function isWritten(path: string, text: string, mode: number): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat?.isFile() === true && (stat.mode & PERMISSIONS) === mode && readFileSync(path, "utf8") === text;
}

/** Reads a JSON file of ours; undefined when it is missing, damaged or of another version: then it is to be made again. */
export function readVersioned<T extends { readonly version: number }>(path: string, version: T["version"]): T | undefined {
  if (!existsSync(path)) return undefined;
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isVersion<T>(value, version) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isVersion<T extends { readonly version: number }>(value: unknown, version: number): value is T {
  return typeof value === "object" && value !== null && (value as { version?: unknown }).version === version;
}
