import { AppError, Cleanup, runSteps, type SandboxId, type Step } from "@boxyard/core";
import { fromErrno } from "@boxyard/core/node";
import type { SandboxSpec } from "@boxyard/driver";
import { upperOf } from "../rootfs/upper.ts";
import { cgroupOf, type LocalParts } from "../sandbox.ts";
import { diskQuotaOf, diskUidBaseOf, type LocalSandboxRecord, readRecord, writeRecord } from "../state/record.ts";
import { awaitAgent } from "../steps/await-agent.ts";
import { bundle } from "../steps/bundle.ts";
import { create } from "../steps/create.ts";
import { limits } from "../steps/limits.ts";
import { network } from "../steps/network.ts";
import { start } from "../steps/start.ts";
import type { GenerationFile } from "./generation.ts";
import { changeNames } from "./hosts.ts";
import { freeSandbox, generationsOf, notPaused } from "./pause.ts";
import { restoreProcesses } from "./restore-processes.ts";
import type { ResumeContext } from "./resume-context.ts";
import { standsAsLeft } from "./standing.ts";
import { wakeSteps } from "./wake.ts";

type KeptDisk = Pick<GenerationFile, "uidBase" | "diskUidBase" | "diskUsedBytes"> & { readonly disk: string };

/** A new incarnation, with an address of its own; from here on `revert` leads back. */
export const claim: Step<ResumeContext> = {
  name: "claim",
  async run(ctx) {
    const { parts, spec } = ctx;
    const { incarnation, resources, network, labels, hostname, agent, image } = spec;
    const lease = parts.networks.allocate(spec.sandboxId, incarnation);
    const { process: _, ending: __, ...kept } = ctx.record;
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

/** As a create has it, but no child waits in it. */
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

/** For a boot from the disk, before anything of it runs. */
const readdress: Step<ResumeContext> = {
  name: "readdress",
  run: async ({ volume, oldAddress, record }) => changeNames(upperOf(volume), { address: oldAddress }, record.lease),
};

export const restoreSteps: readonly Step<ResumeContext>[] = [claim, freshCgroup, restore, awaitAgent as Step<ResumeContext>];
export const rebootSteps: readonly Step<ResumeContext>[] = [
  ...[claim, freshCgroup, readdress, bundle, create, limits, network],
  ...([start, awaitAgent] as Step<ResumeContext>[]),
];

/** Paused again when this throws. A wake from memory that does not come about is a restore from the image. */
export async function resumeSandbox(
  parts: LocalParts,
  spec: SandboxSpec,
  memory: boolean,
  signal: AbortSignal,
): Promise<LocalSandboxRecord> {
  const found = find(parts, spec);
  const standing = parts.wakeCache.take(spec.sandboxId);
  if (memory && standing && isOfSameSize(found.record, spec) && standsAsLeft(parts, found.record, standing)) {
    try {
      return await attempt(wakeSteps, { parts, spec, ...found, standing }, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      parts.onUndoError("wake", error);
    }
  }
  return resumeBy((generation) => (memory && generation.memory ? restoreSteps : rebootSteps), { parts, spec }, signal);
}

/** Limits are set, and told inside, when processes are made. */
const isOfSameSize = (record: LocalSandboxRecord, spec: SandboxSpec) => Bun.deepEquals(record.resources, spec.resources);

type Found = Pick<ResumeContext, "record" | "generation">;
type Wish = Pick<ResumeContext, "parts" | "spec" | "from">;

/** Goes on with a paused sandbox by other steps than those of a resume. Paused again when this throws. */
export async function resumeBy(
  stepsFor: (generation: GenerationFile) => readonly Step<ResumeContext>[],
  wish: Wish,
  signal: AbortSignal,
): Promise<LocalSandboxRecord> {
  const found = find(wish.parts, wish.spec);
  // What the pause has left.
  await freeSandbox(wish.parts, found.record);
  return attempt(stepsFor(found.generation), { ...wish, ...found }, signal);
}

function find(parts: LocalParts, { sandboxId, incarnation }: SandboxSpec): Found {
  const record = readRecord(parts.paths.state(sandboxId));
  const generation = record && generationsOf(parts, record).whole();
  if (!record || !generation) throw notPaused(sandboxId);
  if (record.incarnation !== generation.incarnation || incarnation <= record.incarnation) {
    throw new AppError("failed_precondition", `Sandbox ${sandboxId} is at incarnation ${record.incarnation}`, {
      reason: "bad_incarnation",
    });
  }
  return { record, generation };
}

async function attempt(
  steps: readonly Step<ResumeContext>[],
  wish: Wish & Found & Pick<ResumeContext, "standing">,
  signal: AbortSignal,
): Promise<LocalSandboxRecord> {
  const { parts, spec, record } = wish;
  const { sandboxId } = spec;
  const volume = parts.storage.volumePath(sandboxId);
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

/** Whatever the sandbox is doing, afterwards it is paused as its generation says. Repeatable. */
export async function revertSandbox(parts: LocalParts, sandboxId: SandboxId): Promise<GenerationFile> {
  const record = readRecord(parts.paths.state(sandboxId));
  const generations = record && generationsOf(parts, record);
  const generation = generations?.whole();
  if (!record || !generations || !generation) throw notPaused(sandboxId);
  await freeSandbox(parts, record);
  const { incarnation, process } = generation;
  if (record.incarnation === incarnation) return generation;
  const { ending: _, ...kept } = await resetDisk(parts, record, generation);
  await writeRecord(parts.paths.state(sandboxId), { ...kept, incarnation, process });
  return generation;
}

/**
 * The disk becomes what the generation kept. Simple quotas charge what a volume began with to the one that it was written in, so the record
 * has to know of it.
 */
async function resetDisk(parts: LocalParts, record: LocalSandboxRecord, generation: GenerationFile): Promise<LocalSandboxRecord> {
  return setDisk(parts, record, { ...generation, disk: generationsOf(parts, record).diskOf(generation.incarnation) });
}

/** The record of a sandbox whose volume has become a copy of a kept disk. */
export async function setDisk(parts: LocalParts, record: LocalSandboxRecord, kept: KeptDisk): Promise<LocalSandboxRecord> {
  const { sandboxId } = record;
  await parts.storage.resetVolume(sandboxId, kept.disk, diskQuotaOf(record));
  const diskBaseBytes = Math.max(0, kept.diskUsedBytes - (await parts.storage.usage(sandboxId)).usedBytes);
  return { ...record, diskBaseBytes, diskUidBase: diskUidBaseOf(kept) };
}
