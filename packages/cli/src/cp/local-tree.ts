import { type Dirent, lstatSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";

export interface LocalFile {
  /** Path below the root of the tree, with `/`. */
  readonly path: string;
  readonly source: string;
  readonly size: number;
  /** Permission bits. */
  readonly mode: number;
}

/** What is to be uploaded. */
export interface LocalTree {
  readonly directories: readonly string[];
  readonly files: readonly LocalFile[];
  /** Links are copied as they are, not followed. */
  readonly links: readonly { readonly path: string; readonly target: string }[];
  /** Sockets, devices and the like. */
  readonly skipped: readonly string[];
}

/** Reads a directory with all that is below it. */
export function readLocalTree(root: string): LocalTree {
  const tree = {
    directories: [] as string[],
    files: [] as LocalFile[],
    links: [] as { path: string; target: string }[],
    skipped: [] as string[],
  };
  const visit = (directory: string, below: string) => {
    for (const entry of readdirSync(directory, { withFileTypes: true }) as Dirent[]) {
      const source = join(directory, entry.name);
      const path = below ? `${below}/${entry.name}` : entry.name;
      if (entry.isDirectory()) {
        tree.directories.push(path);
        visit(source, path);
      } else if (entry.isFile()) tree.files.push(localFile(source, path));
      else if (entry.isSymbolicLink()) tree.links.push({ path, target: readlinkSync(source) });
      else tree.skipped.push(path);
    }
  };
  visit(root, "");
  return tree;
}

export function localFile(source: string, path: string): LocalFile {
  const { size, mode } = statSync(source);
  return { path, source, size, mode: mode & 0o777 };
}

/** True for `.` and `directory/.`, which mean the content of the directory, as for `cp -r`. */
export const isContents = (source: string): boolean => /(?:^|\/)\.$/.test(source);

/** What is at a local path, or undefined. The path itself may be a link; it is followed. */
export function kindOf(path: string): "file" | "directory" | "other" | undefined {
  try {
    const stat = statSync(path);
    return stat.isDirectory() ? "directory" : stat.isFile() ? "file" : "other";
  } catch {
    try {
      lstatSync(path);
      return "other";
    } catch {
      return undefined;
    }
  }
}
