import { AppError, Cleanup, runSteps, type SandboxId, type Step } from "@boxyard/core";
import { fromErrno } from "@boxyard/core/node";
import { type SandboxSpec, sameVolumeMounts, volumesDiffer } from "@boxyard/driver";
import type { GenerationFile } from "../checkpoint-store/generation.ts";
import { upperOf } from "../rootfs/upper.ts";
import { requireVolumes } from "../sandbox/claim.ts";
import { cgroupOf, type LocalParts } from "../sandbox/parts.ts";
import { isDamaged, stateDamaged } from "../sandbox/recover.ts";
import { diskQuotaOf, diskUidBaseOf, type LocalSandboxRecord, readRecord, writeRecord } from "../state/record.ts";
import { awaitAgent, awaitStartedAgent } from "../steps/await-agent.ts";
import { bundle } from "../steps/bundle.ts";
import { create } from "../steps/create.ts";
import { limits } from "../steps/limits.ts";
import { network } from "../steps/network.ts";
import { start } from "../steps/start.ts";
import { isStillFrozen } from "./frozen.ts";
import { changeNames } from "./hosts.ts";
import { forgetLost, LAZY_FAILED } from "./lazy-memory.ts";
import { freeSandbox, generationsOf, notPaused } from "./pause.ts";
import { restoreProcesses } from "./restore-processes.ts";
import type { ResumeContext } from "./resume-context.ts";
import { wakeSteps } from "./wake.ts";

type KeptDisk = Pick<GenerationFile, "uidBase" | "diskUidBase" | "diskUsedBytes"> & { readonly disk: string };

/** Writes the record of a new incarnation, with an address of its own; from here on `revert` restores the paused state. */
export const claim: Step<ResumeContext> = {
  name: "claim",
  async run(ctx) {
    const { parts, spec } = ctx;
    const { incarnation, resources, network, labels, hostname, agent, image } = spec;
    const lease = parts.networks.allocate(spec.sandboxId, incarnation, network);
    const { process: _, ending: __, ...kept } = ctx.record;
    forgetLost(parts, spec.sandboxId);
    const record = { ...kept, incarnation, resources, network, labels, hostname, initKey: agent.initKey, layers: image.layers, lease };
    ctx.record = record;
    try {
      await writeRecord(parts.paths.state(spec.sandboxId), record);
    } catch (error) {
      await parts.networks.detach(lease);
      throw error;
    }
  },
};

/** The cgroups as a create makes them, but without a spare child. */
export const freshCgroup: Step<ResumeContext> = {
  name: "cgroup",
  async run({ cgroup, record, spec }) {
    cgroup.create(record.uidBase);
    cgroup.limit(spec.resources);
  },
};

const restore: Step<ResumeContext> = {
  name: "restore",
  async run(ctx, undo, signal) {
    const { parts, generation } = ctx;
    if (generation.needsKeptDisk) ctx.record = await resetDisk(parts, ctx.record, generation);
    const images = generationsOf(parts, ctx.record).imagesOf(generation.incarnation);
    await restoreProcesses(ctx, { ...generation, images, names: { address: ctx.oldAddress } }, undo, signal);
  },
};

/** For a boot from the disk, before any process runs: replaces the old address in the sandbox's files. */
const readdress: Step<ResumeContext> = {
  name: "readdress",
  run: async ({ volume, oldAddress, record }) => changeNames(upperOf(volume), { address: oldAddress }, record.lease),
};

export const restoreSteps: readonly Step<ResumeContext>[] = [claim, freshCgroup, restore, awaitAgent as Step<ResumeContext>];
export const rebootSteps: readonly Step<ResumeContext>[] = [
  ...[claim, freshCgroup, readdress, bundle, create, limits, network],
  ...([start, awaitStartedAgent] as Step<ResumeContext>[]),
];

/** Resumes a paused sandbox. When this throws, the sandbox is paused again. When a wake from memory is not possible or fails, the image is restored. */
export async function resumeSandbox(
  parts: LocalParts,
  spec: SandboxSpec,
  memory: boolean,
  signal: AbortSignal,
): Promise<LocalSandboxRecord> {
  const found = find(parts, spec);
  const frozen = parts.wakeCache.take(spec.sandboxId);
  if (memory && frozen && isOfSameSize(found.record, spec) && isStillFrozen(parts, found.record, frozen)) {
    try {
      return await attempt(wakeSteps, { parts, spec, ...found, frozen }, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      parts.onUndoError("wake", error);
    }
  }
  return resumeBy((generation) => (memory && generation.memory ? restoreSteps : rebootSteps), { parts, spec }, signal);
}

/** A wake keeps the limits of its processes, and the files that show them inside: other limits need a restore. */
const isOfSameSize = (record: LocalSandboxRecord, spec: SandboxSpec) => Bun.deepEquals(record.resources, spec.resources);

type Found = Pick<ResumeContext, "record" | "generation">;
type Wish = Pick<ResumeContext, "parts" | "spec" | "from">;

/** Resumes a paused sandbox by the steps that `stepsFor` chooses. When this throws, the sandbox is paused again. */
export async function resumeBy(
  stepsFor: (generation: GenerationFile) => readonly Step<ResumeContext>[],
  wish: Wish,
  signal: AbortSignal,
): Promise<LocalSandboxRecord> {
  const found = find(wish.parts, wish.spec);
  // Ends what the pause has left in memory.
  await freeSandbox(wish.parts, found.record);
  try {
    return await attempt(stepsFor(found.generation), { ...wish, ...found }, signal);
  } catch (error) {
    if (!(error instanceof AppError) || error.reason !== LAZY_FAILED) throw error;
    wish.parts.onUndoError("lazy", error);
    return attempt(stepsFor(found.generation), { ...wish, ...find(wish.parts, wish.spec) }, signal);
  }
}

function find(parts: LocalParts, { sandboxId, incarnation, volumes }: SandboxSpec): Found {
  const record = readRecord(parts.paths.state(sandboxId));
  const generation = record && generationsOf(parts, record).whole();
  if (!record || !generation) throw nothingToResume(parts, sandboxId);
  if (record.incarnation !== generation.incarnation || incarnation <= record.incarnation) {
    throw new AppError("failed_precondition", `Sandbox ${sandboxId} is at incarnation ${record.incarnation}`, {
      reason: "bad_incarnation",
    });
  }
  if (!sameVolumeMounts(record.volumes, volumes)) throw volumesDiffer();
  requireVolumes(parts, record);
  return { record, generation };
}

const nothingToResume = (parts: LocalParts, id: SandboxId) => (isDamaged(parts, id) ? stateDamaged(parts, id) : notPaused(id));

async function attempt(
  steps: readonly Step<ResumeContext>[],
  wish: Wish & Found & Pick<ResumeContext, "frozen">,
  signal: AbortSignal,
): Promise<LocalSandboxRecord> {
  const { parts, spec, record } = wish;
  const { sandboxId } = spec;
  const volume = parts.storage.diskPath(sandboxId);
  const ctx: ResumeContext = { ...wish, volume, cgroup: cgroupOf(parts, sandboxId), oldAddress: record.lease.address };
  const undo = new Cleanup(parts.onUndoError);
  undo.add("revert", () => revertSandbox(parts, sandboxId));
  try {
    await runSteps(steps, ctx, undo, signal, parts.observer);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw fromErrno(`resume sandbox ${sandboxId}`, error);
  }
  undo.disarm();
  return ctx.record;
}

/** Brings a sandbox in any state back to the paused state of its generation. Repeatable. */
export async function revertSandbox(parts: LocalParts, sandboxId: SandboxId): Promise<GenerationFile> {
  const record = readRecord(parts.paths.state(sandboxId));
  const generations = record && generationsOf(parts, record);
  const generation = generations?.whole();
  if (!record || !generations || !generation) throw nothingToResume(parts, sandboxId);
  await freeSandbox(parts, record);
  const { incarnation, process, bootId } = generation;
  if (record.incarnation === incarnation) return generation;
  const { ending: _, bootId: __, ...kept } = await resetDisk(parts, record, generation);
  const reverted = { ...kept, incarnation, process, ...(bootId !== undefined && { bootId }) };
  await writeRecord(parts.paths.state(sandboxId), reverted);
  return generation;
}

/**
 * Gives the sandbox the disk that the generation kept. Simple quotas charge what a volume began with to the volume in which it was written, so the
 * record notes its size (`diskBaseBytes`).
 */
async function resetDisk(parts: LocalParts, record: LocalSandboxRecord, generation: GenerationFile): Promise<LocalSandboxRecord> {
  return setDisk(parts, record, { ...generation, disk: generationsOf(parts, record).diskOf(generation.incarnation) });
}

/** Makes the sandbox's volume a copy of a kept disk; returns the record to be written. */
export async function setDisk(parts: LocalParts, record: LocalSandboxRecord, kept: KeptDisk): Promise<LocalSandboxRecord> {
  const { sandboxId } = record;
  await parts.storage.resetDisk(sandboxId, kept.disk, diskQuotaOf(record));
  const diskBaseBytes = Math.max(0, kept.diskUsedBytes - (await parts.storage.usage(sandboxId)).usedBytes);
  return { ...record, diskBaseBytes, diskUidBase: diskUidBaseOf(kept) };
}
