import type { ChildProgram, Result } from "../sys/fork-server/index.ts";
import {
  AT_EMPTY_PATH,
  AT_FDCWD,
  MOUNT_ATTR,
  MOVE_MOUNT_F_EMPTY_PATH,
  MOVE_MOUNT_T_EMPTY_PATH,
  OPEN_TREE_CLOEXEC,
  OPEN_TREE_CLONE,
} from "../sys/libc.ts";

export interface MappedTree {
  readonly source: string;
  /** The user namespace with the map of ids. */
  readonly namespace: Result;
  /** Flags of `MOUNT_ATTR`, besides the one for the map. */
  readonly attributes: number;
}

/** A copy of the mount of the directory `source`, in no place yet, with the owners that a user namespace maps it to. */
export function mappedTree(program: ChildProgram, { source, namespace, attributes }: MappedTree): Result {
  const tree = program.call("open_tree", [AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC], source);
  // struct mount_attr; its last word is the user namespace.
  const words = new BigUint64Array([BigInt(MOUNT_ATTR.IDMAP | attributes), 0n, 0n, 0n]);
  program.store(words, 3, namespace);
  program.call("mount_setattr", [tree, "", AT_EMPTY_PATH, words, words.byteLength], `idmap of ${source}`);
  return tree;
}

/** Mounts `tree` at a path, or at an open directory. */
export function moveTree(program: ChildProgram, tree: Result, target: string | Result, what: string): void {
  if (typeof target === "string") program.call("move_mount", [tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH], what);
  else program.call("move_mount", [tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH], what);
}
