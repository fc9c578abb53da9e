import { mkdirSync, readFileSync } from "node:fs";
import { open, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { destroySubvolume } from "../sys/btrfs.ts";
import { hasErrno, setxattr } from "../sys/libc.ts";
import { runCommand } from "../sys/run.ts";

/** A directory of the pool with `images/`, the subvolume `disk` and a marker: a file that is written last and says that both are whole. */
export const KEPT = { images: "images", disk: "disk" } as const;

/**
 * Makes the directory for CRIU's images, whose files the pool's file system compresses: memory takes a tenth of its size on the disk, and data that
 * does not get smaller is written uncompressed (docs/performance.md).
 */
export function makeImages(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  try {
    setxattr(path, "btrfs.compression", new TextEncoder().encode("zstd"));
  } catch (error) {
    // A file system without compression, as in unit tests.
    if (!hasErrno(error, "EOPNOTSUPP", "EINVAL")) throw error;
  }
}

/** Writes the marker. Once this resolves, a crash of the machine does not lose what the directory holds. */
export async function writeMarker(directory: string, name: string, value: object): Promise<void> {
  const aside = join(directory, `${name}.new`);
  await writeFile(aside, `${JSON.stringify(value)}\n`, { mode: 0o600 });
  // Images, disk and the marker's text are flushed before the marker has its name.
  await flush(directory);
  await rename(aside, join(directory, name));
  // Only the name is left to be flushed, which needs no flush of the whole file system.
  const opened = await open(directory, "r");
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

/** The marker at `path`; undefined if there is no marker. Throws `data_loss`, with this reason, for a marker that is damaged or of another version. */
export function readMarker<T extends { readonly version: 1 }>(
  path: string,
  reason: "bad_generation" | "bad_snapshot" | "bad_volume",
): T | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (hasErrno(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
  const file = parsed(text) as T | null | undefined;
  if (file?.version !== 1) throw new AppError("data_loss", `${path} is damaged, or of another version`, { reason });
  return file;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Removes the directory, the marker first, so that a partial one is never taken for a whole one. Repeatable. */
export async function removeKept(directory: string, marker: string): Promise<void> {
  await rm(join(directory, marker), { force: true });
  try {
    destroySubvolume(directory, KEPT.disk);
  } catch (error) {
    if (!hasErrno(error, "ENOENT")) throw error;
  }
  await rm(directory, { recursive: true, force: true });
}

/** Flushes the file system of `path` to the disk; in a child process, because it takes from one to many milliseconds. */
export async function flush(path: string): Promise<void> {
  await runCommand(["sync", "--file-system", path]);
}
