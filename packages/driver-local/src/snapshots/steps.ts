import { dirname } from "node:path";
import { AppError, type Step } from "@boxyard/core";
import { changeNames } from "../checkpoint/hosts.ts";
import { type RestoreContext, restoreProcesses } from "../checkpoint/restore-processes.ts";
import { claim, freshCgroup, setDisk } from "../checkpoint/resume.ts";
import type { ResumeContext } from "../checkpoint/resume-context.ts";
import type { SnapshotSource } from "../checkpoint-store/snapshot-files.ts";
import { upperOf } from "../rootfs/upper.ts";
import type { CreateContext, StartContext } from "../sandbox/parts.ts";
import { writeRecord } from "../state/record.ts";
import { awaitAgent, awaitStartedAgent } from "../steps/await-agent.ts";
import { bundle } from "../steps/bundle.ts";
import { cgroup } from "../steps/cgroup.ts";
import { create } from "../steps/create.ts";
import { limits } from "../steps/limits.ts";
import { network } from "../steps/network.ts";
import { start } from "../steps/start.ts";
import { openInside, RESOLVE, unlinkAt } from "../sys/at.ts";
import { close, hasErrno, O, withDirectory } from "../sys/libc.ts";

function sourceOf({ from }: { readonly from?: SnapshotSource | undefined }): SnapshotSource {
  if (!from) throw new AppError("internal", "the spec of a start from a snapshot names no snapshot");
  return from;
}

/** Used instead of `rootfs`: makes a volume that begins as a copy of the snapshot's disk, and shares unchanged data with it. */
export const cloneDisk: Step<CreateContext> = {
  name: "cloneDisk",
  async run(ctx) {
    const { parts, spec, record } = ctx;
    const { file, disk } = sourceOf(ctx);
    const { diskBytes } = spec.resources;
    if (file.diskUsedBytes > diskBytes) {
      const message = `Snapshot ${file.id} holds ${file.diskUsedBytes} bytes on its disk, more than the ${diskBytes} of this sandbox`;
      throw new AppError("failed_precondition", message, { reason: "disk_too_small" });
    }
    const { path, baseBytes } = await parts.storage.cloneDisk(spec.sandboxId, disk, {
      heldBytes: file.diskUsedBytes,
      limitBytes: diskBytes,
    });
    ctx.volume = path;
    ctx.record = { ...record, diskUidBase: file.diskUidBase, diskBaseBytes: baseBytes, diskQuotaBytes: diskBytes - baseBytes };
    await writeRecord(parts.paths.state(spec.sandboxId), ctx.record);
  },
};

/** For a boot: replaces the snapshot's host name and address in the files of the disk, before any process runs. */
const renameDisk: Step<CreateContext> = {
  name: "renameDisk",
  async run(ctx) {
    const { file } = sourceOf(ctx);
    const upper = upperOf(ctx.volume);
    dropFiles(upper, file.remapped);
    changeNames(upper, file, { address: ctx.record.lease.address, hostname: ctx.record.hostname });
  },
};

/** Removes the names that CRIU gave to deleted files: they are of no use without the processes that have the files open. */
function dropFiles(upper: string, paths: readonly string[]): void {
  withDirectory(upper, (root) => {
    for (const path of paths) dropFile(root, path.replace(/^\/+/, ""));
  });
}

function dropFile(root: number, path: string): void {
  try {
    const directory = openInside(root, dirname(path), O.RDONLY | O.DIRECTORY | O.NOFOLLOW, RESOLVE.noLinks);
    try {
      unlinkAt(directory, path.slice(path.lastIndexOf("/") + 1));
    } finally {
      close(directory);
    }
  } catch (error) {
    if (!hasErrno(error, "ENOENT", "ENOTDIR", "ELOOP")) throw error;
  }
}

/** Notes in the record that `start` restores the snapshot. Until then the sandbox has no process. */
const deferRestore: Step<CreateContext> = {
  name: "deferRestore",
  async run(ctx) {
    ctx.record = { ...ctx.record, startsFrom: sourceOf(ctx).file.id };
    await writeRecord(ctx.parts.paths.state(ctx.spec.sandboxId), ctx.record);
  },
};

export type RestoreSnapshotContext = RestoreContext & StartContext & { readonly from?: SnapshotSource | undefined };

const restoreSnapshot: Step<RestoreSnapshotContext> = {
  name: "restoreSnapshot",
  run(ctx, undo, signal) {
    const { file, images } = sourceOf(ctx);
    return restoreProcesses(ctx, { ...file, images, names: file, uidBaseOfImages: file.uidBase }, undo, signal);
  },
};

/** Gives a paused sandbox the snapshot's disk. Its generation keeps the disk that it had. */
const rollBackDisk: Step<ResumeContext> = {
  name: "rollBackDisk",
  async run(ctx) {
    const { parts, spec } = ctx;
    const { file, disk } = sourceOf(ctx);
    const record = await setDisk(parts, ctx.record, { ...file, disk });
    // The memory of this sandbox knows the boot of that time; a boot from the disk gets another identity after this.
    const isOwn = file.sandboxId === spec.sandboxId && file.bootId !== undefined;
    ctx.record = { ...record, ...(isOwn && { bootId: file.bootId }) };
    await writeRecord(parts.paths.state(spec.sandboxId), ctx.record);
  },
};

/** A create from a snapshot that boots from its disk. */
export const createFromDiskSteps: readonly Step<CreateContext>[] = [cloneDisk, renameDisk, cgroup, bundle, create, limits, network];
/** A create from a snapshot with memory, whose processes `start` restores. */
export const createFromMemorySteps: readonly Step<CreateContext>[] = [cloneDisk, freshCgroup as Step<CreateContext>, bundle, deferRestore];
export const startFromMemorySteps: readonly Step<RestoreSnapshotContext>[] = [restoreSnapshot, awaitAgent];

export const rollBackToMemorySteps: readonly Step<ResumeContext>[] = [
  ...[claim, rollBackDisk, freshCgroup],
  ...([restoreSnapshot, awaitAgent] as Step<ResumeContext>[]),
];
export const rollBackToDiskSteps: readonly Step<ResumeContext>[] = [
  ...[claim, rollBackDisk, renameDisk, freshCgroup, bundle, create, limits, network],
  ...([start, awaitStartedAgent] as Step<ResumeContext>[]),
];
