import { getXattr, statAt, TYPE, typeOf, withOpen } from "../sys/at.ts";
import { O, withDirectory } from "../sys/libc.ts";
import { OPAQUE } from "./attributes.ts";
import { partsOf } from "./byte-paths.ts";

/** Those of `paths` that the layer with the tree at `tree` may change (`LayerMaker.changedPaths`). */
export function changedPaths(tree: string, paths: readonly string[]): string[] {
  return withDirectory(tree, (root) => paths.filter((path) => isChanged(root, partsOf(Buffer.from(path).toString("latin1")))));
}

function isChanged(dir: number, [name, ...rest]: readonly string[]): boolean {
  // An opaque directory hides what is below it.
  if (name === undefined || getXattr(dir, OPAQUE)) return true;
  const stat = statAt(dir, name);
  if (!stat) return false;
  if (rest.length === 0 || typeOf(stat) !== TYPE.directory) return true;
  return withOpen(dir, name, O.DIRECTORY, (fd) => isChanged(fd, rest));
}
