import { writeFileSync } from "node:fs";
import { AppError, Cleanup, newSandboxId, runSteps, type SandboxId, type Step } from "@boxyard/core";
import type { SandboxSpec } from "@boxyard/driver";
import { restoreOomScores } from "../checkpoint/frozen.ts";
import { generationsOf } from "../checkpoint/pause.ts";
import { restoreProcesses, TrialPassed } from "../checkpoint/restore-processes.ts";
import { freshCgroup } from "../checkpoint/resume.ts";
import type { GenerationFile } from "../checkpoint-store/generation.ts";
import type { SnapshotSource } from "../checkpoint-store/snapshot-files.ts";
import type { FrozenSandbox, TrialResult } from "../checkpoint-store/wake-cache.ts";
import { claimSandbox } from "../sandbox/claim.ts";
import type { CreateContext, LocalParts } from "../sandbox/parts.ts";
import { cloneDisk } from "../snapshots/steps.ts";
import { diskUidBaseOf, type LocalSandboxRecord, readRecord } from "../state/record.ts";
import { bundle } from "../steps/bundle.ts";

/** Label of the sandbox in which an image is tried; its value is the id of the sandbox whose image it is. */
export const TRIAL_OF = "boxyard-trial-of";

/** Restores every process of the image, and ends them before the first runs. */
const restoreForTrial: Step<CreateContext> = {
  name: "restoreForTrial",
  async run(ctx, undo, signal) {
    const { file, images } = ctx.from as SnapshotSource;
    const source = { ...file, images, names: file, uidBaseOfImages: file.uidBase, isTrial: true };
    await restoreProcesses(ctx, source, undo, signal).catch((error: unknown) => {
      if (!(error instanceof TrialPassed)) throw error;
    });
  },
};

/** As a start from a snapshot with memory, which it is; nothing of the sandbox itself is changed. */
const trialSteps: readonly Step<CreateContext>[] = [cloneDisk, freshCgroup as Step<CreateContext>, bundle, restoreForTrial];

/**
 * Tries to restore the image of a paused sandbox whose processes are still in memory, in a sandbox of its own that is removed again: that takes as much
 * memory as the sandbox holds, for the time of a resume. Logs what can't be started, and notes it for `boxyard doctor`. Never rejects.
 */
export async function tryImage(parts: LocalParts, id: SandboxId, frozen: FrozenSandbox, signal: AbortSignal): Promise<TrialResult> {
  try {
    const record = readRecord(parts.paths.state(id));
    const generation = record && generationsOf(parts, record).whole();
    if (!record || !generation?.memory || generation.incarnation !== frozen.incarnation) return "unknown";
    // Its processes may hold locks of the volumes' files, which the restored ones can't get beside them.
    if (record.volumes?.length) return "unknown";
    await restoreBeside(parts, record, generation, signal);
    return "starts";
  } catch (error) {
    if (signal.aborted || !parts.wakeCache.keeps(id, frozen)) return "unknown";
    const fails = isOfImage(error);
    parts.onTrial(id, fails, error);
    if (fails) keep(parts, id, frozen, error);
    return fails ? "fails" : "unknown";
  }
}

async function restoreBeside(
  parts: LocalParts,
  record: LocalSandboxRecord,
  generation: GenerationFile,
  signal: AbortSignal,
): Promise<void> {
  const undo = new Cleanup(parts.onUndoError);
  const ctx = await claimSandbox(parts, specOf(record, generation), undo, sourceOf(parts, record, generation));
  await runSteps(trialSteps, ctx, undo, signal, parts.observer);
  await undo.run();
}

function specOf(record: LocalSandboxRecord, { diskUsedBytes }: GenerationFile): SandboxSpec {
  const { sandboxId, resources, network, restrictions, hostname = "", imageDigest = "", layers = [], initKey = "" } = record;
  return {
    sandboxId: newSandboxId(),
    incarnation: 1,
    image: { digest: imageDigest, layers },
    hostname,
    resources: { ...resources, diskBytes: Math.max(resources.diskBytes, diskUsedBytes) },
    network,
    ...(restrictions && { restrictions }),
    agent: { initKey },
    labels: { [TRIAL_OF]: sandboxId },
  };
}

function sourceOf(parts: LocalParts, record: LocalSandboxRecord, generation: GenerationFile): SnapshotSource {
  const { memoryBytes = 0, incarnation, ...rest } = generation;
  const generations = generationsOf(parts, record);
  return {
    file: {
      ...rest,
      ...{ id: `trial-${record.sandboxId}`, memoryBytes, layers: record.layers ?? [], hostname: record.hostname, remapped: [] },
      ...{ address: record.lease.address, diskUidBase: diskUidBaseOf(generation) },
    },
    disk: generations.diskOf(incarnation),
    images: generations.imagesOf(incarnation),
  };
}

/** True for what CRIU says of an image. A full disk, or a run that took too long, says nothing about it. */
const isOfImage = (error: unknown): boolean =>
  error instanceof AppError &&
  ["restore_failed", "restore_refused"].includes(error.reason ?? "") &&
  ["internal", "failed_precondition"].includes(error.code);

/** The kernel no longer takes the processes first when memory runs out. The note for `boxyard doctor` goes with the processes (`forgetFailedTrial`). */
function keep(parts: LocalParts, id: SandboxId, frozen: FrozenSandbox, error: unknown): void {
  try {
    writeFileSync(parts.paths.failedTrial(id), error instanceof Error ? error.message : String(error), { mode: 0o600 });
    restoreOomScores(frozen);
  } catch (failure) {
    parts.onUndoError("keepAfterTrial", failure);
  }
}
