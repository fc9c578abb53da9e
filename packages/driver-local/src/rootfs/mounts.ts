import { join } from "node:path";
import { AppError } from "@boxyard/core";
import type { ChildProgram } from "../sys/child.ts";
import {
  AT_EMPTY_PATH,
  AT_FDCWD,
  CLONE,
  MNT_DETACH,
  MOUNT_ATTR,
  MOVE_MOUNT_F_EMPTY_PATH,
  MS,
  O,
  OPEN_TREE_CLOEXEC,
  OPEN_TREE_CLONE,
} from "../sys/libc.ts";

/**
 * Where the root file system stands while the runtime takes it over: in a mount namespace of the runtime's own, so nobody else sees it
 * and it is gone with that process, whatever happens. A folder that exists everywhere and that the sandbox's root may walk to, which
 * cannot be said of the data folder; and not one in which the configuration mounts anything, for runc (1.1) takes a path inside that
 * begins like this one for a path outside.
 */
export const ROOT_MOUNT = "/run";

/** Where the guest bundle appears inside. */
export const GUEST_FOLDER = ".boxyard";

/** mount(2) takes one page of options. */
const OPTIONS_BYTES = 4_095;

export interface RootMounts {
  /** Folder of all layers, with plain owners. */
  readonly layersRoot: string;
  /** Names of the layers below it, topmost first. */
  readonly layers: readonly string[];
  /** Where to show the layers under the sandbox's ids. */
  readonly layersMount: string;
  readonly userNsFd: number;
  readonly upper: string;
  readonly work: string;
  readonly guest: string;
  /** Folders to show, read-only, below the guest folder. */
  readonly binds: readonly { readonly source: string; readonly target: string }[];
}

function overlayOptions(mounts: RootMounts): string {
  const lower = mounts.layers.map((layer) => join(mounts.layersMount, layer)).join(":");
  // Some distributions turn redirects and metadata-only copies on: an upper directory with them means nothing by itself, as a layer must.
  const options = `redirect_dir=nofollow,metacopy=off,index=off,lowerdir=${lower},upperdir=${mounts.upper},workdir=${mounts.work}`;
  if (Buffer.byteLength(options) > OPTIONS_BYTES) {
    throw new AppError("invalid_argument", `An image of ${mounts.layers.length} layers is more than overlay takes here`, {
      reason: "too_many_layers",
    });
  }
  return options;
}

function bindReadOnly(program: ChildProgram, source: string, target: string): void {
  const READ_ONLY = MS.BIND | MS.REMOUNT | MS.RDONLY | MS.NOSUID | MS.NODEV;
  program.call("mount", [source, target, null, MS.BIND, null], source);
  program.call("mount", ["none", target, null, READ_ONLY, null], target);
}

/**
 * Adds the calls that put the root file system together: a mount namespace of its own, the layers under the sandbox's ids (an idmapped
 * mount, let go at once), overlay, the guest bundle. `nodev` because a layer may hold device nodes and no device rule applies to them.
 */
export function addRootMounts(program: ChildProgram, mounts: RootMounts): void {
  program.call("unshare", [CLONE.NEWNS], "mount namespace");
  program.call("mount", ["none", "/", null, MS.REC | MS.PRIVATE, null], "/");
  const tree = program.call("open_tree", [AT_FDCWD, mounts.layersRoot, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC], mounts.layersRoot);
  // struct mount_attr; its last word is the user namespace.
  const attributes = new BigUint64Array([BigInt(MOUNT_ATTR.IDMAP | MOUNT_ATTR.RDONLY), 0n, 0n, 0n]);
  program.store(attributes, 3, program.descriptor(mounts.userNsFd, O.RDONLY));
  program.call("mount_setattr", [tree, "", AT_EMPTY_PATH, attributes, attributes.byteLength], "idmap of the layers");
  program.call("move_mount", [tree, "", AT_FDCWD, mounts.layersMount, MOVE_MOUNT_F_EMPTY_PATH], mounts.layersMount);
  program.call("mount", ["overlay", ROOT_MOUNT, "overlay", MS.NODEV, overlayOptions(mounts)], "overlay");
  program.call("umount2", [mounts.layersMount, MNT_DETACH], mounts.layersMount);
  const guest = join(ROOT_MOUNT, GUEST_FOLDER);
  bindReadOnly(program, mounts.guest, guest);
  for (const bind of mounts.binds) bindReadOnly(program, bind.source, join(guest, bind.target));
}
