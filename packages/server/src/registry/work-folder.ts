import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const PREFIX = "work-";

/** Lends a folder of its own below `parent`; it is gone when `use` is done. */
export async function withWorkFolder<T>(parent: string, use: (folder: string) => Promise<T>): Promise<T> {
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  const folder = mkdtempSync(join(parent, PREFIX));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Removes what a killed server has left of them. Call it before any work begins. */
export function removeWorkFolders(parent: string): void {
  if (!existsSync(parent)) return;
  for (const name of readdirSync(parent)) if (name.startsWith(PREFIX)) rmSync(join(parent, name), { recursive: true, force: true });
}
