import { join } from "node:path";
import { AppError, Cleanup, runSteps, type Step } from "@boxyard/core";
import { fromErrno } from "@boxyard/core/node";
import type { Generation } from "@boxyard/driver";
import { type GenerationFile, Generations } from "../checkpoint-store/generation.ts";
import type { RoomClaim } from "../checkpoint-store/room-for-memory.ts";
import { memoryBytesOf } from "../criu/image-files.ts";
import { cgroupOf, type LocalParts } from "../sandbox/parts.ts";
import { endTracers } from "../sandbox/tracers.ts";
import type { LocalSandboxRecord, ProcessIdentity } from "../state/record.ts";
import { dumpMemory, type Found, takeRoom } from "./dump.ts";
import { forgetFailedTrial, keepFrozen } from "./frozen.ts";

export const generationsOf = (parts: LocalParts, { sandboxId }: Pick<LocalSandboxRecord, "sandboxId">) =>
  new Generations(parts.storage.generationsRoot, sandboxId);

export interface PauseContext {
  readonly parts: LocalParts;
  readonly record: LocalSandboxRecord & { readonly process: ProcessIdentity };
  readonly memory: boolean;
  readonly generations: Generations;
  readonly room: RoomClaim;
  file: GenerationFile;
  /** What the dump has found out. */
  found: Found;
}

/** Takes room for the memory, and makes the directory of the new generation. */
const beginGeneration: Step<PauseContext> = {
  name: "beginGeneration",
  async run({ parts, generations, record, memory, room }, undo) {
    if (memory) takeRoom(parts, record, room);
    undo.add("generation", () => generations.remove(record.incarnation));
    await generations.begin(record.incarnation);
  },
};

/** Writes the image of the memory, if it is wanted, and freezes the sandbox: from here on none of its processes runs. */
const checkpoint: Step<PauseContext> = {
  name: "checkpoint",
  async run(ctx, undo) {
    const { parts, record, generations } = ctx;
    const cgroup = cgroupOf(parts, record.sandboxId);
    undo.add("thaw", () => cgroup.thawAll(ctx.found.frozenGroups));
    if (ctx.memory) {
      const log = join(parts.paths.sandbox(record.sandboxId), "checkpoint.log");
      const images = generations.imagesOf(record.incarnation);
      ctx.found = await dumpMemory(parts, record, { images, log, room: ctx.room, freeze: true, whileStill: () => keep(ctx) });
    }
    await cgroup.freeze(true);
  },
};

/** Keeps the disk as it is now: a resume that fails later returns to it. */
const keep = ({ parts, record, generations }: PauseContext) =>
  parts.storage.keepDisk(record.sandboxId, generations.pathOf(record.incarnation), "disk");

/** Keeps the disk of a pause without memory. With memory, `checkpoint` has kept it while CRIU held all processes. */
const keepDisk: Step<PauseContext> = {
  name: "keepDisk",
  run: async (ctx) => (ctx.memory ? undefined : keep(ctx)),
};

/** Writes the marker, after everything else: from here on the generation is whole. */
const complete: Step<PauseContext> = {
  name: "complete",
  async run(ctx) {
    const { parts, record, memory, generations, file, found } = ctx;
    const { usedBytes } = await parts.storage.usage(record.sandboxId);
    const memoryBytes = memory ? memoryBytesOf(generations.imagesOf(record.incarnation)) : 0;
    ctx.file = { ...file, ...found, memoryBytes, diskUsedBytes: usedBytes + (record.diskBaseBytes ?? 0) };
    await generations.complete(ctx.file);
  },
};

export const pauseSteps: readonly Step<PauseContext>[] = [beginGeneration, checkpoint, keepDisk, complete];

/** How a paused sandbox releases what it holds besides its generation and its volume. Each step is repeatable. */
const freeSteps = [
  {
    name: "endProcesses",
    run(parts: LocalParts, { sandboxId }: LocalSandboxRecord) {
      forgetFailedTrial(parts, sandboxId);
      endTracers(parts, sandboxId);
      return cgroupOf(parts, sandboxId).killAndWait();
    },
  },
  { name: "forget", run: (parts: LocalParts, { sandboxId }: LocalSandboxRecord) => parts.runtime.forget(sandboxId) },
  { name: "detachNetwork", run: (parts: LocalParts, { lease }: LocalSandboxRecord) => parts.networks.detach(lease) },
  { name: "removeCgroup", run: (parts: LocalParts, { sandboxId }: LocalSandboxRecord) => cgroupOf(parts, sandboxId).remove() },
] as const;

/** Name, for observers, of keeping the processes in memory: a pause tries that first, and calls `freeSandbox` only when it is not possible. */
export const KEEP_FROZEN = "keepFrozen";
/** The names of the steps of `freeSandbox`, in order. */
export const FREE_STEPS: readonly string[] = freeSteps.map(({ name }) => name);

/** Ends the processes of a sandbox and releases what it holds. Its generation and its volume stay. Repeatable. */
export async function freeSandbox(parts: LocalParts, record: LocalSandboxRecord): Promise<void> {
  parts.wakeCache.take(record.sandboxId);
  for (const { name, run } of freeSteps) {
    await parts.observer.before?.(name);
    await run(parts, record);
    await parts.observer.after?.(name);
  }
}

/** Keeps the processes in memory, for a quick wake. False when that is not possible or fails: the generation is whole, so they can be ended. */
async function isKeptStanding({ parts, record, memory }: PauseContext): Promise<boolean> {
  if (!memory) return false;
  try {
    await parts.observer.before?.(KEEP_FROZEN);
    const isKept = await keepFrozen(parts, record);
    await parts.observer.after?.(KEEP_FROZEN);
    return isKept;
  } catch (error) {
    parts.onUndoError(KEEP_FROZEN, error);
    return false;
  }
}

/** Pauses a running sandbox. When this throws, the sandbox runs on and nothing of the pause is left. */
export async function pauseSandbox(
  parts: LocalParts,
  record: PauseContext["record"],
  memory: boolean,
  signal: AbortSignal,
): Promise<Generation> {
  const { sandboxId, incarnation, uidBase, diskUidBase, bootId, process } = record;
  using room = parts.roomForMemory.claim();
  const ctx: PauseContext = {
    parts,
    record,
    memory,
    generations: generationsOf(parts, record),
    room,
    found: { mounts: [], frozenGroups: [], needsKeptDisk: false },
    file: {
      ...{ version: 1, sandboxId, incarnation, memory, uidBase, process, createdAt: parts.clock.now() },
      ...(diskUidBase !== undefined && { diskUidBase }),
      ...(bootId !== undefined && { bootId }),
      ...{ guest: parts.guestDirectory, mounts: [], frozenGroups: [], needsKeptDisk: false, diskUsedBytes: 0 },
    },
  };
  const undo = new Cleanup(parts.onUndoError);
  try {
    await runSteps(pauseSteps, ctx, undo, signal, parts.observer);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw fromErrno(`pause sandbox ${sandboxId}`, error);
  }
  undo.disarm();
  // The sandbox is paused; what could not be released now, the next call for the sandbox releases.
  if (!(await isKeptStanding(ctx))) await freeSandbox(parts, record).catch((error: unknown) => parts.onUndoError("freeSandbox", error));
  return generationOf(ctx.file);
}

export function generationOf({ sandboxId, incarnation, memory, memoryBytes = 0, createdAt }: GenerationFile): Generation {
  return { sandboxId, incarnation, memory, memoryBytes, createdAt };
}

export const notPaused = (sandboxId: string) =>
  new AppError("not_found", `Sandbox ${sandboxId} is not paused on this machine`, { reason: "generation_not_found" });
