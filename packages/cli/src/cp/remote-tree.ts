import type { EntryInfo } from "@boxyard/sdk";

export interface RemoteFile {
  /** Path below the root of the tree. */
  readonly path: string;
  /** Path in the sandbox. */
  readonly source: string;
  readonly size: number;
  readonly mode: number;
}

/** What is to be downloaded. Its names come from a sandbox, so each is checked before it becomes a local path. */
export interface RemoteTree {
  /** Parents before children. */
  readonly directories: readonly string[];
  readonly files: readonly RemoteFile[];
  readonly links: readonly { readonly path: string; readonly target: string }[];
  readonly skipped: readonly string[];
}

/** No kernel follows more links than this. */
const MOST_LINKS = 40;

/**
 * Sorts a sandbox's listing of `root`, and leaves out what must not become a local path. `texts` holds the targets of links by their paths
 * in the sandbox (`readLinks`); a link without one gets the path to which it resolves.
 */
export function remoteTree(root: string, entries: readonly EntryInfo[], texts: ReadonlyMap<string, string> = new Map()): RemoteTree {
  const directories: string[] = [];
  const files: RemoteFile[] = [];
  const skipped: string[] = [];
  const links = new Map<string, string>();
  for (const entry of entries) {
    const path = below(root, entry.path);
    if (path === undefined) skipped.push(entry.path);
    else if (entry.isSymlink) {
      const target = linkTarget(root, path, texts.get(entry.path) ?? entry.symlinkTarget);
      if (target === undefined) skipped.push(path);
      else links.set(path, target);
    } else if (entry.type === "directory") directories.push(path);
    else if (entry.type === "file") files.push({ path, source: entry.path, size: entry.size, mode: entry.mode & 0o777 });
    else skipped.push(path);
  }
  const kept = [...links].filter(([path, target]) => staysInside(path, target, links));
  skipped.push(...[...links.keys()].filter((path) => !kept.some(([name]) => name === path)));
  return { directories: directories.sort(), files, links: kept.map(([path, target]) => ({ path, target })), skipped };
}

/** The part of `path` below `root`; undefined if the path is not below it, or has `.`, `..` or an empty name in it. */
function below(root: string, path: string): string | undefined {
  const prefix = root.endsWith("/") ? root : `${root}/`;
  if (!path.startsWith(prefix)) return undefined;
  const rest = path.slice(prefix.length);
  const names = rest.split("/");
  return names.every((name) => name !== "" && name !== "." && name !== ".." && !name.includes("\0")) ? rest : undefined;
}

/** The target of a local link. An absolute target inside the tree becomes a relative one; one outside of the tree names another file on this machine. */
function linkTarget(root: string, path: string, target: string | undefined): string | undefined {
  if (!target || target.includes("\0")) return undefined;
  if (!target.startsWith("/")) return target;
  const inside = below(root, target);
  return inside === undefined ? undefined : `${"../".repeat(path.split("/").length - 1)}${inside}`;
}

/** True when a link, followed as the kernel follows it through the other links of the tree, never leaves the tree. What it leads to need not exist. */
function staysInside(path: string, target: string, links: ReadonlyMap<string, string>): boolean {
  const at = path.split("/").slice(0, -1);
  const ahead = target.split("/");
  for (let followed = 0; ahead.length > 0; ) {
    const name = ahead.shift() as string;
    if (name === "" || name === ".") continue;
    if (name === "..") {
      if (at.pop() === undefined) return false;
      continue;
    }
    at.push(name);
    const next = links.get(at.join("/"));
    if (next === undefined) continue;
    // A loop leads nowhere.
    if (++followed > MOST_LINKS) return true;
    at.pop();
    ahead.unshift(...next.split("/"));
  }
  return true;
}
