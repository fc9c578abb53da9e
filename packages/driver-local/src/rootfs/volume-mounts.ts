import { join } from "node:path";
import { RESOLVE } from "../sys/at.ts";
import type { ChildProgram, Result } from "../sys/fork-server/index.ts";
import { AT_FDCWD, MOUNT_ATTR, O } from "../sys/libc.ts";
import { mappedTree, moveTree } from "./mapped.ts";
import { sandboxMap } from "./user-namespace.ts";

/** A volume that users made, as a sandbox sees it. */
export interface ShownVolume {
  /** Its subvolume, with plain owners. */
  readonly disk: string;
  /** Absolute path inside. */
  readonly path: string;
  readonly readOnly: boolean;
  /** How many parts of the path exist; the others are made. */
  readonly existing: number;
}

const MODE = 0o755;
const AT_SYMLINK_NOFOLLOW = 0x100;

/**
 * Adds the calls that mount volumes below `root`, the sandbox's root file system, under the sandbox's ids. The kernel opens each mount point without
 * following a link. The flags `nosuid`, `nodev` and `noatime` are those of the pool's own mount, and no program inside can remove them.
 */
export function addVolumes(program: ChildProgram, root: string, volumes: readonly ShownVolume[], uidBase: number): void {
  if (volumes.length === 0) return;
  program.call("umask", [0]);
  const namespace = program.userNamespace(sandboxMap(uidBase));
  const top = program.call("openat", [AT_FDCWD, root, O.PATH | O.DIRECTORY | O.CLOEXEC, 0], root);
  for (const volume of volumes) {
    const parts = volume.path.split("/").slice(1);
    for (let i = volume.existing; i < parts.length; i++) {
      const parent = openBelow(program, top, parts.slice(0, i).join("/") || ".");
      const name = parts[i] as string;
      program.call("mkdirat", [parent, name, MODE], volume.path);
      program.call("fchownat", [parent, name, uidBase, uidBase, AT_SYMLINK_NOFOLLOW], volume.path);
    }
    moveTree(program, treeOf(program, volume, namespace), openBelow(program, top, parts.join("/")), volume.path);
  }
}

/** Adds the calls that mount volumes for CRIU, each at a path of `placeOf`. */
export function addStagedVolumes(
  program: ChildProgram,
  volumes: ReadonlyMap<string, Pick<ShownVolume, "disk" | "readOnly">>,
  uidBase: number,
): void {
  if (volumes.size === 0) return;
  const namespace = program.userNamespace(sandboxMap(uidBase));
  for (const [target, volume] of volumes) {
    program.call("mkdirat", [AT_FDCWD, target, MODE], target);
    moveTree(program, treeOf(program, volume, namespace), target, target);
  }
}

const treeOf = (program: ChildProgram, { disk, readOnly }: Pick<ShownVolume, "disk" | "readOnly">, namespace: Result): Result =>
  mappedTree(program, { source: disk, namespace, attributes: readOnly ? MOUNT_ATTR.RDONLY : 0 });

function openBelow(program: ChildProgram, top: Result, path: string): Result {
  const how = new BigUint64Array([BigInt(O.PATH | O.DIRECTORY | O.CLOEXEC), 0n, BigInt(RESOLVE.noLinks)]);
  return program.call("openat2", [top, path, how, how.byteLength], path);
}

/** Where a restore finds a volume, below the directory `places`: CRIU separates paths by colons, and a name has none. */
export const placeOf = (places: string, id: string, readOnly: boolean): string => join(places, `${readOnly ? "ro" : "rw"}-${id}`);
