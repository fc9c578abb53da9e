import { basename, join } from "node:path";
import { AppError } from "@boxyard/core";
import type { ExternalMount } from "../checkpoint-store/generation.ts";
import { rebaseUserNamespace, userNamespaceImage } from "../criu/image-files.ts";
import { limitFor, runCriu } from "../criu/run.ts";
import { addDevices, addGuest, addOverlay, bindReadOnly } from "../rootfs/mounts.ts";
import { upperOf, workOf } from "../rootfs/upper.ts";
import { addStagedVolumes, placeOf } from "../rootfs/volume-mounts.ts";
import { cgroupOf, type LocalParts } from "../sandbox/parts.ts";
import type { LocalSandboxRecord } from "../state/record.ts";
import type { ChildProgram } from "../sys/fork-server/index.ts";
import { AT_FDCWD, MS } from "../sys/libc.ts";
import { VolumeFiles } from "../user-volumes/volume-files.ts";
import { cgroupRootOptions } from "./cgroup-roots.ts";
import { COMMON_OPTIONS, noCriu } from "./dump.ts";
import { addKernelFacts, addRunDirectory, CRIU_RUN_DIRECTORY, keepKernelFacts } from "./kernel-facts.ts";
import { addLazyImages, beginLazy, bringLater, type LazyRestore, removeLazyImages } from "./lazy-memory.ts";
import { sourcePath, volumeOf } from "./mounts.ts";
import { moveSockets, OPEN_FILES } from "./open-files.ts";
import { posixLocksIn } from "./posix-locks.ts";
import { canSetLocks, setLocks } from "./set-locks.ts";

/**
 * Where CRIU finds what it needs: CRIU opens the sources of mounts as the sandbox's root, which cannot reach the data directory. It is a small file
 * system in CRIU's own mount namespace; so CRIU also sees nothing that other programs wrote to /run.
 */
const STAGE = CRIU_RUN_DIRECTORY;
const AT = {
  root: `${STAGE}/root`,
  images: `${STAGE}/images`,
  guest: `${STAGE}/guest`,
  host: `${STAGE}/host`,
  devices: `${STAGE}/devices`,
  empty: `${STAGE}/empty`,
  volumes: `${STAGE}/volumes`,
} as const;
const DIRECTORY = 0o755;
/** setpriority(2): of a process, and the value with the least priority. */
const PRIO_PROCESS = 0;
const LEAST_NICE = 19;
/** Name, for observers, of setting locks again. */
export const SET_LOCKS = "setLocks";

export interface Restore {
  readonly images: string;
  readonly mounts: readonly ExternalMount[];
  /** First id of the range in the images, when they were made of another sandbox: the processes then get this sandbox's cgroups and ids. */
  readonly uidBaseOfImages?: number;
  /** True: CRIU gives way to everything else on the machine. */
  readonly isTrial?: boolean;
  /** Digests of the layers, lowest first. */
  readonly layers: readonly string[];
  readonly volume: string;
  /** Directory of the guest bundle. */
  readonly guest: string;
  /** A directory for CRIU's log. */
  readonly work: string;
  /** The sandbox's address when the images were made: sockets that have it get the present one. */
  readonly addressOfImages: string;
  /** Called once the network namespace exists, before the first socket: a connected socket needs a route. `pid`: the sandbox's init. */
  plugIn(pid: number): Promise<void>;
  /** Called before the first of the restored processes runs. `pid`: the sandbox's init. */
  beforeRun(pid: number): Promise<void>;
}

/** Restores a sandbox's processes from an image; returns the pid of their init. When this fails none of them is left. */
export async function restoreMemory(parts: LocalParts, record: LocalSandboxRecord, restore: Restore): Promise<number> {
  const { criu } = parts;
  if (!criu) throw noCriu();
  let init: number | undefined;
  const places = { ...AT, cgroup: cgroupOf(parts, record.sandboxId) };
  const locks = canSetLocks ? posixLocksIn(restore.images) : [];
  // A trial has to read all of the image.
  const lazy = restore.isTrial ? undefined : beginLazy(parts, restore.images, restore.work);
  const ended = runCriu({
    criu,
    forkServer: parts.forkServer,
    server: parts.cgroups.name,
    script: parts.criuScript,
    log: join(restore.work, "restore.log"),
    verb: "restore",
    limitMs: limitFor(parts.criuLimitMs, record.resources.memoryBytes),
    prepare: (program) => addStage(program, parts, record, restore, lazy),
    args: [
      ...["restore", "--images-dir", AT.images, "--work-dir", restore.work, "--root", AT.root, "--restore-detached"],
      ...COMMON_OPTIONS,
      ...(restore.uidBaseOfImages === undefined ? [] : cgroupRootOptions(parts.cgroups, places.cgroup.pathInside)),
      ...restore.mounts.flatMap(({ target, source }) => ["--external", `mnt[${target}]:${sourcePath(source, places)}`]),
    ],
    moments: ["post-setup-namespaces", ...(locks.length > 0 || lazy ? ["post-restore" as const] : []), "pre-resume"],
    async at(moment, pid) {
      if (moment === "post-setup-namespaces") return restore.plugIn(pid);
      if (moment === "post-restore") {
        if (locks.length > 0) {
          await parts.observer.before?.(SET_LOCKS);
          await setLocks(locks, { forkServer: parts.forkServer, processes: places.cgroup.processes(), limitMs: parts.criuLimitMs });
          await parts.observer.after?.(SET_LOCKS);
        }
        if (lazy) await bringLater(parts, record.sandboxId, lazy);
        return;
      }
      keepKernelFacts(parts, pid);
      await restore.beforeRun(pid);
      init = pid;
    },
  });
  await ended.finally(() => lazy && removeLazyImages(lazy));
  if (init === undefined) throw new AppError("internal", "CRIU has restored nothing", { reason: "restore_failed" });
  return init;
}

function addStage(
  program: ChildProgram,
  parts: LocalParts,
  record: LocalSandboxRecord,
  from: Restore,
  lazy: LazyRestore | undefined,
): void {
  if (from.isTrial) program.call("setpriority", [PRIO_PROCESS, 0, LEAST_NICE]);
  addRunDirectory(program);
  for (const directory of Object.values(AT)) program.call("mkdirat", [AT_FDCWD, directory, DIRECTORY], directory);
  addKernelFacts(program, parts);
  const { storage, paths } = parts;
  const overlay = {
    layersRoot: storage.layersRoot,
    layers: from.layers.map((digest) => basename(storage.layerPath(digest))).reverse(),
    layersMount: paths.layersMount,
    uidBase: record.uidBase,
    diskUidBase: record.diskUidBase,
    upper: upperOf(from.volume),
    work: workOf(from.volume),
  };
  addOverlay(program, overlay, AT.root);
  bindReadOnly(program, from.images, AT.images);
  if (lazy) addLazyImages(program, lazy, AT.images);
  if (from.uidBaseOfImages !== undefined) addRebased(program, from, { from: from.uidBaseOfImages, to: record.uidBase });
  addMovedSockets(program, from, record.lease.address);
  addGuest(program, { ...overlay, guest: from.guest }, AT.guest);
  addDevices(program, AT.devices);
  addEmpty(program, AT.empty);
  bindReadOnly(program, paths.hostFacts(record.sandboxId), AT.host);
  addStagedVolumes(program, volumesOf(parts, from.mounts), record.uidBase);
}

/** The volumes among the mounts, by the paths where CRIU looks for them. */
function volumesOf({ storage }: LocalParts, mounts: readonly ExternalMount[]) {
  const files = new VolumeFiles(storage.userVolumesRoot);
  return new Map(
    mounts.flatMap(({ source }) => {
      const volume = volumeOf(source);
      return volume ? [[placeOf(AT.volumes, volume.id, volume.readOnly), { ...volume, disk: files.diskOf(volume.id) }]] : [];
    }),
  );
}

function addEmpty(program: ChildProgram, target: string): void {
  // With exactly the flags of the runtime's mounts: CRIU sets those on its copies, and a sandbox's root may remove no flag.
  program.call("mount", ["empty", target, "tmpfs", MS.RDONLY, "mode=755,size=4k,nr_inodes=1"], target);
}

/** Mounts this sandbox's own copy of the one image that names the range of ids; all other images are shared by the sandboxes that start from them. */
function addRebased(program: ChildProgram, { images, work }: Restore, range: { readonly from: number; readonly to: number }): void {
  const name = userNamespaceImage(images);
  const copy = join(work, name);
  rebaseUserNamespace(join(images, name), range.from, range.to, copy);
  bindReadOnly(program, copy, join(AT.images, name));
}

/** The same for the image of sockets, when one has the sandbox's old address. */
function addMovedSockets(program: ChildProgram, { images, work, addressOfImages }: Restore, address: string): void {
  const copy = join(work, OPEN_FILES);
  if (moveSockets(images, addressOfImages, address, copy)) bindReadOnly(program, copy, join(AT.images, OPEN_FILES));
}
