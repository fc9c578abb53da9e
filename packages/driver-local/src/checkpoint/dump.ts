import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { readStats } from "../cgroup/stats.ts";
import type { GenerationFile, VolumeLock } from "../checkpoint-store/generation.ts";
import type { RoomClaim } from "../checkpoint-store/room-for-memory.ts";
import { withPreload } from "../criu/criu.ts";
import { remappedPaths } from "../criu/image-files.ts";
import { checkPagesIn } from "../criu/page-images.ts";
import { limitFor, runCriu } from "../criu/run.ts";
import { GUEST_DIRECTORY } from "../rootfs/mounts.ts";
import { upperOf } from "../rootfs/upper.ts";
import { cgroupOf, type LocalParts } from "../sandbox/parts.ts";
import { criuPreloadFile } from "../setup/fork-server.ts";
import type { LocalSandboxRecord, ProcessIdentity } from "../state/record.ts";
import { dumpedCgroupOptions } from "./cgroup-roots.ts";
import { checkFitsAgain } from "./fits-again.ts";
import { checkInFlight } from "./in-flight.ts";
import { restartPolls } from "./interrupted-polls.ts";
import { addKernelFacts, addRunDirectory } from "./kernel-facts.ts";
import { allBrought } from "./lazy-memory.ts";
import { externalMounts, mountinfoOf, volumeOf } from "./mounts.ts";
import { isBelow, mendOpenFiles } from "./open-files.ts";
import { checkLocksIn } from "./posix-locks.ts";
import { checkPrograms } from "./programs.ts";
import { volumeLocksOf } from "./volume-locks.ts";
import { watchedPaths } from "./watches.ts";
import { writeEarly } from "./write-early.ts";

/**
 * Options that dump and restore have to share. Established connections are closed, and connections that no program has accepted yet are dropped: their
 * other ends do not wait for a resume. Locks of files, Unix sockets, and files that were deleted while open are kept. The driver makes the cgroups,
 * so CRIU only moves processes into them.
 */
export const COMMON_OPTIONS = [
  ...["--manage-cgroups=soft", "--empty-ns", "net", "--network-lock", "skip"],
  ...["--tcp-close", "--skip-in-flight", "--file-locks", "--ext-unix-sk", "--link-remap"],
  "-v1",
] as const;

/** Files that a program has deleted and still has open go into the image up to this size, which is more than a disk of a sandbox holds. */
const GHOST_LIMIT = "1000G";
/** An image without one of these files is not complete, even if CRIU reports success. */
const ESSENTIAL = ["inventory.img", "pstree.img", "pagemap-1.img", "files.img"];

/** What a dump finds out besides the images. */
export type Found = Pick<GenerationFile, "mounts" | "frozenGroups" | "needsKeptDisk" | "volumeLocks">;

export interface Dump {
  readonly images: string;
  readonly log: string;
  /** Holds room for the memory; its owner releases it once the images are on the disk or the dump has failed. */
  readonly room: RoomClaim;
  /** True: everything stays frozen afterwards. False: the sandbox runs on. */
  readonly freeze: boolean;
  /**
   * Called after the memory is written, while CRIU still holds all processes: the disk has the names then that CRIU gave to files which were
   * deleted while open; CRIU removes them afterwards.
   */
  whileStill(): Promise<void>;
}

/** To be called before anything is made for a dump. Throws when there is no room for the sandbox's memory, or when no CRIU works here. */
export function takeRoom(parts: LocalParts, { sandboxId }: Pick<LocalSandboxRecord, "sandboxId">, room: RoomClaim): void {
  if (!parts.criu) throw noCriu();
  room.take(readStats(cgroupOf(parts, sandboxId)).memoryUsedBytes);
}

/**
 * Writes the memory of a running sandbox to `images`. The agent may have frozen the groups of commands before; CRIU cannot work on frozen processes,
 * so they are thawed once CRIU has stopped all processes itself. When this fails the sandbox runs on.
 */
export async function dumpMemory(
  parts: LocalParts,
  record: LocalSandboxRecord & { readonly process: ProcessIdentity },
  { images, log, room, freeze, whileStill }: Dump,
): Promise<Found> {
  const { criu } = parts;
  if (!criu) throw noCriu();
  await allBrought(parts, record.sandboxId, limitFor(parts.criuLimitMs, record.resources.memoryBytes));
  const cgroup = cgroupOf(parts, record.sandboxId);
  // Again, because the sandbox may hold more memory by now.
  takeRoom(parts, record, room);
  const { pid } = record.process;
  const mounts = externalMounts(mountinfoOf(pid), `/${GUEST_DIRECTORY}`);
  const frozenGroups = cgroup.frozenBelow();
  let volumeLocks: readonly VolumeLock[] = [];
  const ended = runCriu({
    // CRIU then asks for no tracked connections, which a restore into an empty network namespace has no use for.
    criu: withPreload(criu, criuPreloadFile(parts.paths.root)),
    forkServer: parts.forkServer,
    server: parts.cgroups.name,
    script: parts.criuScript,
    log,
    verb: "checkpoint",
    limitMs: limitFor(parts.criuLimitMs, record.resources.memoryBytes),
    prepare(program) {
      addRunDirectory(program);
      addKernelFacts(program, parts);
    },
    moments: ["network-lock", "post-dump"],
    onHang: () => cgroup.setFrozenBelow(frozenGroups, false),
    args: [
      ...["dump", "--tree", String(pid), "--images-dir", images, "--leave-running", "--ghost-limit", GHOST_LIMIT],
      ...COMMON_OPTIONS,
      ...dumpedCgroupOptions(parts.cgroups.name, readFileSync(`/proc/${pid}/cgroup`, "utf8")),
      ...mounts.flatMap(({ target }) => ["--external", `mnt[${target}]:${target}`]),
      ...watchedPaths(cgroup.processes(), treesOf(parts, record)).flatMap((path) => ["--irmap-scan-path", path]),
    ],
    async at(moment) {
      if (moment === "network-lock") cgroup.setFrozenBelow(frozenGroups, false);
      if (moment !== "post-dump") return;
      volumeLocks = volumeLocksOf(cgroup.processes(), mounts);
      if (freeze) cgroup.beginFreeze();
      await whileStill();
    },
  });
  await Promise.all([ended, writeEarly(images, parts.forkServer, ended)]);
  const missing = ESSENTIAL.find((name) => !existsSync(join(images, name)));
  if (missing) throw new AppError("internal", `CRIU has written no ${missing}`, { reason: "checkpoint_failed" });
  checkPagesIn(images);
  checkLocksIn(images);
  checkPrograms(images, mendOpenFiles(images, pathsOfVolumes(mounts)));
  checkRenamed(images, pathsOfVolumes(mounts));
  checkInFlight(images);
  checkFitsAgain(images, cgroup, record.resources.memoryBytes);
  restartPolls(images);
  // A restore reads the images as the root of a sandbox; no other user can reach their directory.
  chmodSync(images, 0o755);
  for (const name of readdirSync(images)) chmodSync(join(images, name), 0o644);
  return {
    mounts,
    ...(volumeLocks.length > 0 && { volumeLocks }),
    frozenGroups: frozenGroups.filter((path) => path !== "user" && path !== "pty"),
    needsKeptDisk: existsSync(join(images, "remap-fpath.img")),
  };
}

const pathsOfVolumes = (mounts: Found["mounts"]): string[] => mounts.filter(({ source }) => volumeOf(source)).map(({ target }) => target);

/**
 * Throws when a process has a file of a volume open whose path is another file's by now: CRIU gives such a file a name beside it, and no copy of the volume
 * is kept that has this name.
 */
function checkRenamed(images: string, volumes: readonly string[]): void {
  if (volumes.length === 0) return;
  const path = remappedPaths(images).find((name) => isBelow(name, volumes));
  if (path === undefined) return;
  const message = `A program has a file of a volume open that was renamed or removed since (${path}): close it first, or keep the disk alone`;
  throw new AppError("failed_precondition", message, { reason: "volume_file_renamed" });
}

function treesOf({ storage }: LocalParts, { sandboxId, layers = [] }: LocalSandboxRecord) {
  const volume = storage.diskPath(sandboxId);
  const upper = { subvolume: volume, prefix: `${upperOf(volume).slice(volume.length + 1)}/` };
  return [upper, ...layers.map((digest) => ({ subvolume: storage.layerPath(digest), prefix: "" }))];
}

export const noCriu = () =>
  new AppError("failed_precondition", "This machine has no CRIU that works, so memory cannot be kept; 'boxyard doctor' says why", {
    reason: "no_memory_checkpoint",
  });
