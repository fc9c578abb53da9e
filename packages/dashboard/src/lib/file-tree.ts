/** An entry of a directory, of a sandbox or of a volume. */
export interface Entry {
  readonly name: string;
  /** `directory`, or what else it is. */
  readonly type?: string | undefined;
  readonly size: number;
}

/** A line of the tree as it is shown. */
export interface TreeLine {
  readonly path: string;
  readonly name: string;
  readonly depth: number;
  readonly isDirectory: boolean;
  readonly isOpen: boolean;
  readonly size: number;
}

/** Entries of a directory that are shown; the names of the others can be reached in a terminal. */
export const MOST_ENTRIES = 2000;

/** Directories whose entries are known, by path. */
export type Known = ReadonlyMap<string, readonly Entry[]>;

/** The entries of a directory: directories first, then by name. */
export function inOrder(entries: readonly Entry[]): Entry[] {
  const rank = ({ type }: Entry) => (type === "directory" ? 0 : 1);
  return entries.toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1)).slice(0, MOST_ENTRIES);
}

/** The visible lines of the tree below `root`. */
export function linesOf(root: string, known: Known, open: ReadonlySet<string>, depth = 1): TreeLine[] {
  return (known.get(root) ?? []).flatMap((entry) => {
    const isDirectory = entry.type === "directory";
    const path = join(root, entry.name);
    const isOpen = isDirectory && open.has(path);
    const line = { path, name: entry.name, depth, isDirectory, isOpen, size: entry.size };
    return isOpen ? [line, ...linesOf(path, known, open, depth + 1)] : [line];
  });
}

/** A path from a name that the sandbox gives: the name cannot lead elsewhere. */
export function join(directory: string, name: string): string {
  const clean = name.replaceAll("/", "_");
  return directory === "/" ? `/${clean}` : `${directory}/${clean}`;
}

export const parentOf = (path: string): string => path.slice(0, Math.max(1, path.lastIndexOf("/")));
