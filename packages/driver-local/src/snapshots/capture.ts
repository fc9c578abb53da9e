import { join } from "node:path";
import { Cleanup, runSteps, type Step } from "@boxyard/core";
import { fromErrno } from "@boxyard/core/node";
import type { CaptureOptions } from "@boxyard/driver";
import { dumpMemory, type Found, takeRoom } from "../checkpoint/dump.ts";
import { flush, KEPT } from "../checkpoint-store/marker.ts";
import type { RoomClaim } from "../checkpoint-store/room-for-memory.ts";
import type { SnapshotFile, SnapshotFiles } from "../checkpoint-store/snapshot-files.ts";
import { memoryBytesOf, remappedPaths } from "../criu/image-files.ts";
import { cgroupOf, type LocalParts } from "../sandbox/parts.ts";
import { diskUidBaseOf, type LocalSandboxRecord, type ProcessIdentity } from "../state/record.ts";
import { diskUseOf } from "./disk-use.ts";

export interface CaptureContext {
  readonly parts: LocalParts;
  readonly files: SnapshotFiles;
  readonly record: LocalSandboxRecord & { readonly process: ProcessIdentity };
  readonly options: CaptureOptions;
  readonly room: RoomClaim;
  /** What the dump has found out. */
  found: Found;
  /** Bytes that the kernel charged to the volume when it was cloned. */
  usedBytes: number;
  whole?: SnapshotFile;
}

const beginSnapshot: Step<CaptureContext> = {
  name: "beginSnapshot",
  async run({ parts, files, options, record, room }, undo) {
    const { sandboxId } = record;
    if (options.memory) takeRoom(parts, record, room);
    undo.add("snapshot", () => files.remove(options.id));
    files.begin(options.id, { sandboxId, wasFrozen: cgroupOf(parts, sandboxId).isFreezeRequested() });
  },
};

/** Flushes what was written so far while everything runs, so that less is left to flush while the sandbox stands still. */
const flushEarly: Step<CaptureContext> = {
  name: "flushEarly",
  run: ({ parts, record }) => flush(parts.storage.diskPath(record.sandboxId)),
};

/** Keeps memory and disk of one moment, in which no process of the sandbox runs. After that, all processes go on that ran before. */
const checkpoint: Step<CaptureContext> = {
  name: "checkpoint",
  run: (ctx) => (ctx.options.memory ? keepBoth(ctx) : keepDisk(ctx)),
};

async function keepBoth(ctx: CaptureContext): Promise<void> {
  const { parts, record, files, options } = ctx;
  const cgroup = cgroupOf(parts, record.sandboxId);
  const frozen = cgroup.frozenBelow();
  const log = join(parts.paths.sandbox(record.sandboxId), "checkpoint.log");
  try {
    ctx.found = await dumpMemory(parts, record, {
      ...{ images: files.imagesOf(options.id), log, room: ctx.room, freeze: false },
      async whileStill() {
        // The dump has thawed these groups; from here on CRIU only detaches from the processes.
        cgroup.setFrozenBelow(frozen, true);
        await keepFrozenDisk(ctx);
      },
    });
  } catch (error) {
    cgroup.setFrozenBelow(frozen, true);
    throw error;
  }
}

async function keepDisk(ctx: CaptureContext): Promise<void> {
  const cgroup = cgroupOf(ctx.parts, ctx.record.sandboxId);
  const isFrozen = cgroup.isFreezeRequested();
  try {
    await cgroup.freeze(true);
    await keepFrozenDisk(ctx);
  } finally {
    if (!isFrozen) await cgroup.freeze(false);
  }
}

async function keepFrozenDisk(ctx: CaptureContext): Promise<void> {
  const { parts, record, files, options } = ctx;
  await parts.storage.keepDisk(record.sandboxId, files.pathOf(options.id), KEPT.disk);
  ctx.usedBytes = (await parts.storage.usage(record.sandboxId)).usedBytes + (record.diskBaseBytes ?? 0);
}

/** Writes the marker, after everything else: from here on the snapshot is whole. */
const completeSnapshot: Step<CaptureContext> = {
  name: "completeSnapshot",
  async run(ctx) {
    const { parts, record, files, options, found } = ctx;
    const images = files.imagesOf(options.id);
    const diskUsedBytes = await diskUseOf(files.diskOf(options.id), record, ctx.usedBytes);
    const whole: SnapshotFile = {
      ...{
        version: 1,
        id: options.id,
        memory: options.memory,
        layers: record.layers ?? [],
        ...(record.volumes && { volumes: record.volumes }),
        createdAt: parts.clock.now(),
      },
      ...{ memoryBytes: options.memory ? memoryBytesOf(images) : 0, diskUsedBytes, guest: parts.guestDirectory },
      ...{
        mounts: found.mounts,
        frozenGroups: found.frozenGroups,
        ...(found.volumeLocks && { volumeLocks: found.volumeLocks }),
        remapped: options.memory ? remappedPaths(images) : [],
      },
      ...{ ...(record.bootId !== undefined && { bootId: record.bootId }), sandboxId: record.sandboxId },
      ...{ uidBase: record.uidBase, diskUidBase: diskUidBaseOf(record), hostname: record.hostname, address: record.lease.address },
    };
    await files.complete(whole);
    ctx.whole = whole;
  },
};

export const captureSteps: readonly Step<CaptureContext>[] = [beginSnapshot, flushEarly, checkpoint, completeSnapshot];

/** Captures a running sandbox. When this throws, nothing of the snapshot is left. In both cases the sandbox runs on. */
export async function captureSandbox(
  context: Pick<CaptureContext, "parts" | "files" | "record" | "options">,
  signal: AbortSignal,
): Promise<SnapshotFile> {
  const { parts, record } = context;
  using room = parts.roomForMemory.claim();
  const ctx: CaptureContext = { ...context, room, found: { mounts: [], frozenGroups: [], needsKeptDisk: false }, usedBytes: 0 };
  const undo = new Cleanup(parts.onUndoError);
  try {
    await runSteps(captureSteps, ctx, undo, signal, parts.observer);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw fromErrno(`capture sandbox ${record.sandboxId}`, error);
  }
  undo.disarm();
  return ctx.whole as SnapshotFile;
}
