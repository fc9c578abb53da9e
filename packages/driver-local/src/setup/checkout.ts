import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

/** The root of the checkout that runs: sources of the agent, recipes of the images. */
export const CHECKOUT = resolve(import.meta.dir, "../../../..");

/** Files that are not part of any product. */
const NOT_BUILT = /\.test\.ts$|(^|\/)(node_modules|fixtures|__pycache__)\//;

/** `path` itself if it is a file, else every file below it without tests, sorted. Empty when there is no such path. */
function filesBelow(path: string, root: string): string[] {
  const directory = join(root, path);
  const stat = statSync(directory, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return stat ? [path] : [];
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .filter((file) => !NOT_BUILT.test(file))
    .sort();
}

/** Hash of the names and contents of files and directories below `root` (without tests), and of `more`. 16 hex digits. */
export function hashSources(paths: readonly string[], more: readonly string[] = [], root: string = CHECKOUT): string {
  const hasher = new Bun.CryptoHasher("sha256");
  for (const path of paths) {
    for (const file of filesBelow(path, root))
      hasher
        .update(`${file}\0`)
        .update(readFileSync(join(root, file)))
        .update("\0");
  }
  return hasher.update(JSON.stringify(more)).digest("hex").slice(0, 16);
}
