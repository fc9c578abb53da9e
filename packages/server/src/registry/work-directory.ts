import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const PREFIX = "work-";

/** Makes a directory below `parent` for `use`, and removes it afterwards. */
export async function withWorkDirectory<T>(parent: string, use: (directory: string) => Promise<T>): Promise<T> {
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  const directory = mkdtempSync(join(parent, PREFIX));
  try {
    return await use(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Removes the work directories that a killed server has left. Call it before any work begins. */
export function removeWorkDirectories(parent: string): void {
  if (!existsSync(parent)) return;
  for (const name of readdirSync(parent)) if (name.startsWith(PREFIX)) rmSync(join(parent, name), { recursive: true, force: true });
}
