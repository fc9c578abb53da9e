import { basename, dirname, join, relative } from "node:path";
import { AppError } from "@boxyard/core";
import type { ChildProgram } from "../sys/fork-server/index.ts";
import { AT_FDCWD, CLONE, MNT_DETACH, MOUNT_ATTR, MS } from "../sys/libc.ts";
import { type MappedTree, mappedTree, moveTree } from "./mapped.ts";
import { diskMap, sandboxMap } from "./user-namespace.ts";
import { addVolumes, type ShownVolume } from "./volume-mounts.ts";

/**
 * Where the root file system is mounted for the runtime: in a mount namespace of the runtime's own, so that no other process sees it and it ends
 * with that process. The directory exists on every machine, and the sandbox's root can reach it, unlike the data directory. The configuration must
 * mount nothing inside at a path that begins like this one: runc (1.1) takes such a path for one outside.
 */
export const ROOT_MOUNT = "/run";

/** Where the guest bundle appears inside. */
export const GUEST_DIRECTORY = ".boxyard";

/** mount(2) takes one page of options. */
const OPTIONS_BYTES = 4_095;

export interface OverlayMounts {
  /** Directory of all layers, with plain owners. */
  readonly layersRoot: string;
  /** Names of the layers below it, topmost first. */
  readonly layers: readonly string[];
  /** Where to show the layers under the sandbox's ids. */
  readonly layersMount: string;
  /** First of the sandbox's user ids on the machine. */
  readonly uidBase: number;
  readonly upper: string;
  readonly work: string;
  /** First id of the range that owners on the volume are of, where it is another than the sandbox's (the volume began as a copy). */
  readonly diskUidBase?: number | undefined;
}

export interface RootMounts extends OverlayMounts {
  readonly guest: string;
  /** Directories to show, read-only, below the guest directory. */
  readonly binds: readonly { readonly source: string; readonly target: string }[];
  readonly volumes: readonly ShownVolume[];
}

/** Paths are relative to the directory of the layers: a sandbox can read these options, and must not learn where the data directory is. */
function overlayOptions(mounts: OverlayMounts): string {
  const lower = mounts.layers.join(":");
  const [upper, work] = [mounts.upper, mounts.work].map((directory) => relative(mounts.layersMount, directory));
  // Some distributions turn redirects and metadata-only copies on: an upper directory with them is incomplete without the layers below, and could
  // not become a layer.
  const options = `redirect_dir=nofollow,metacopy=off,index=off,lowerdir=${lower},upperdir=${upper},workdir=${work}`;
  if (Buffer.byteLength(options) > OPTIONS_BYTES) {
    throw new AppError("invalid_argument", `An image of ${mounts.layers.length} layers is more than overlay takes here`, {
      reason: "too_many_layers",
    });
  }
  return options;
}

/** Shows `source` at `target`, read-only. */
export function bindReadOnly(program: ChildProgram, source: string, target: string): void {
  const READ_ONLY = MS.BIND | MS.REMOUNT | MS.RDONLY | MS.NOSUID | MS.NODEV;
  program.call("mount", [source, target, null, MS.BIND, null], source);
  program.call("mount", ["none", target, null, READ_ONLY, null], target);
}

/**
 * Adds the calls that put the root file system together, in a mount namespace of its own. What a sandbox then sees, in this order:
 *
 * | inside | what it is | for a checkpoint |
 * |---|---|---|
 * | `/` | overlay: the image's layers under the sandbox's ids (an idmapped mount, unmounted at once), the volume's `upper` | external: mounted by the driver before a restore |
 * | `/.boxyard` | overlay over the guest bundle, read-only | external, same |
 * | `/.boxyard/host`, `/.boxyard/cgroup/<controller>` | `binds`: directories of this sandbox, read-only | external, same |
 * | `/dev/null` and the other `DEVICES` | nodes of a tmpfs of this sandbox's, which the runtime binds into the `/dev` of its config.json | external, same |
 * | `/proc/meminfo`, `/proc/cpuinfo`, `/sys/devices/system/cpu/online` | files of `/.boxyard/host`, bind mounts of config.json (`figures/files.ts`) | external, same |
 * | `/proc/sys/kernel/random/boot_id` | a file of `/.boxyard/host`, mounted by the step `limits` (`figures/boot-id.ts`) | external, same |
 * | `/sys/fs/cgroup` | the sandbox's own cgroup, a bind mount of config.json (`oci/config.ts`) | external, same |
 * | the paths of `SandboxSpec.volumes` | volumes that users made, under the sandbox's ids (idmapped mounts) | external, same |
 * | the rest of `oci/config.ts` (`/proc`, `/dev`, `/dev/pts`, `/dev/shm`, `/dev/mqueue`, `/sys`) and masked paths | made by the runtime | part of the image |
 *
 * Except for volumes, none of these inodes belongs to another sandbox or to the machine too: watches (inotify) and locks (flock) on them would be visible there. An
 * overlay has inodes of its own, but its files use the memory pages of the files below: all sandboxes share the memory of the bundle.
 */
export function addRootMounts(program: ChildProgram, mounts: RootMounts): void {
  addMountNamespace(program);
  addOverlay(program, mounts, ROOT_MOUNT);
  const guest = join(ROOT_MOUNT, GUEST_DIRECTORY);
  addGuest(program, mounts, guest);
  for (const bind of mounts.binds) bindReadOnly(program, bind.source, join(guest, bind.target));
  addVolumes(program, ROOT_MOUNT, mounts.volumes, mounts.uidBase);
  addDevices(program, "/dev");
}

/** Gives the child a mount namespace of its own: no other process sees what it mounts. */
export function addMountNamespace(program: ChildProgram): void {
  program.call("unshare", [CLONE.NEWNS], "mount namespace");
  program.call("mount", ["none", "/", null, MS.REC | MS.PRIVATE, null], "/");
}

/** Mounts the root file system at `target`. */
export function addOverlay(program: ChildProgram, mounts: OverlayMounts, target: string): void {
  const { layersRoot, layersMount, uidBase, diskUidBase = uidBase } = mounts;
  showMapped(program, { source: layersRoot, target: layersMount, map: sandboxMap(uidBase), attributes: MOUNT_ATTR.RDONLY });
  const volume = dirname(mounts.upper);
  // Mounted over itself, so that its paths do not change.
  if (diskUidBase !== uidBase) showMapped(program, { source: volume, target: volume, map: diskMap(diskUidBase, uidBase), attributes: 0 });
  // `nodev` because a layer may hold device nodes and no device rule applies to them.
  program.call("chdir", [mounts.layersMount], mounts.layersMount);
  program.call("mount", ["overlay", target, "overlay", MS.NODEV, overlayOptions(mounts)], "overlay");
  program.call("chdir", ["/"], "/");
  program.call("umount2", [mounts.layersMount, MNT_DETACH], mounts.layersMount);
  if (diskUidBase !== uidBase) program.call("umount2", [volume, MNT_DETACH], volume);
}

interface ShownTree extends Omit<MappedTree, "namespace"> {
  readonly target: string;
  /** Map of user ids, in the form of user_namespaces(7). */
  readonly map: string;
}

/** Shows the directory `source` at `target` with the owners that a user namespace maps it to. */
function showMapped(program: ChildProgram, { target, map, ...tree }: ShownTree): void {
  moveTree(program, mappedTree(program, { ...tree, namespace: program.userNamespace(map) }), target, target);
}

/** Mounts the guest bundle. An overlay without an upper directory must have two lower ones, so the lowest is an empty one. */
export function addGuest(program: ChildProgram, { guest, layersMount }: Pick<RootMounts, "guest" | "layersMount">, target: string): void {
  const parent = dirname(guest);
  const options = `lowerdir=${basename(guest)}:${relative(parent, layersMount)}`;
  program.call("chdir", [parent], parent);
  program.call("mount", ["guest", target, "overlay", MS.RDONLY | MS.NOSUID | MS.NODEV, options], "guest bundle");
  program.call("chdir", ["/"], "/");
}

/** Device nodes that every program needs: major and minor numbers of the kernel's devices.txt. */
const DEVICES = { null: [1, 3], zero: [1, 5], full: [1, 7], random: [1, 8], urandom: [1, 9], tty: [5, 0] } as const;
const S_IFCHR = 0o020000;
const MAJOR_SHIFT = 8;

/**
 * Puts nodes of the sandbox's own into `directory`: where the runtime looks for those of the machine, to bind them into the sandbox. They work there because
 * this tmpfs is mounted outside of the sandbox's user namespace; a node of a file system mounted inside it would not.
 */
export function addDevices(program: ChildProgram, directory: string): void {
  const options = `mode=755,size=4k,nr_inodes=${Object.keys(DEVICES).length + 1}`;
  program.call("mount", ["devices", directory, "tmpfs", MS.NOSUID | MS.NOEXEC, options], "devices");
  program.call("umask", [0]);
  for (const [name, [major, minor]] of Object.entries(DEVICES)) {
    program.call("mknodat", [AT_FDCWD, `${directory}/${name}`, S_IFCHR | 0o666, (major << MAJOR_SHIFT) | minor], name);
  }
}
