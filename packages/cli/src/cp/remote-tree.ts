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

/** Sorts a sandbox's listing of `root`, and leaves out what must not become a local path. */
export function remoteTree(root: string, entries: readonly EntryInfo[]): RemoteTree {
  const tree = {
    directories: [] as string[],
    files: [] as RemoteFile[],
    links: [] as { path: string; target: string }[],
    skipped: [] as string[],
  };
  for (const entry of entries) {
    const path = below(root, entry.path);
    if (path === undefined) tree.skipped.push(entry.path);
    else if (entry.isSymlink) {
      const target = linkTarget(root, path, entry.symlinkTarget);
      if (target === undefined) tree.skipped.push(path);
      else tree.links.push({ path, target });
    } else if (entry.type === "directory") tree.directories.push(path);
    else if (entry.type === "file") tree.files.push({ path, source: entry.path, size: entry.size, mode: entry.mode & 0o777 });
    else tree.skipped.push(path);
  }
  tree.directories.sort();
  return tree;
}

/** The part of `path` below `root`, if it is one that leads nowhere else. */
export function below(root: string, path: string): string | undefined {
  const prefix = root.endsWith("/") ? root : `${root}/`;
  if (!path.startsWith(prefix)) return undefined;
  const rest = path.slice(prefix.length);
  const names = rest.split("/");
  return names.every((name) => name !== "" && name !== "." && name !== ".." && !name.includes("\0")) ? rest : undefined;
}

/** A link inside the tree becomes a relative one; a link that leads out of it would mean something else here. */
function linkTarget(root: string, path: string, target: string | undefined): string | undefined {
  const inside = target === undefined ? undefined : below(root, target);
  if (inside === undefined) return undefined;
  return `${"../".repeat(path.split("/").length - 1)}${inside}`;
}
