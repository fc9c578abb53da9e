import { chmodSync, closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";

/**
 * Writes a file so that a reader, or we after a crash, see the old content or the new one, never a part. One that has this content and mode is left
 * alone: a machine whose disk is full can still be set up again. A failure leaves nothing.
 */
export function writeWhole(path: string, text: string, mode = 0o644): void {
  if (isWritten(path, text, mode)) return;
  const aside = `${path}.new`;
  try {
    const fd = openSync(aside, "w", mode);
    try {
      // Not `writeSync`: a disk that is nearly full takes a part of it, and says no more than how much.
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

/** A JSON file that we wrote earlier; undefined when it is missing or not of this version, which means: make it again. */
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
