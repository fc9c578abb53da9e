import { AppError, isSandboxId, type SandboxId } from "@boxyard/core";
import type { CheckpointCapabilities, CheckpointDriver, Generation, PauseOptions, SandboxHandle, SandboxSpec } from "@boxyard/driver";
import { generationOf, pauseSandbox } from "../checkpoint/pause.ts";
import { resumeBy, resumeSandbox, revertSandbox } from "../checkpoint/resume.ts";
import { Generations } from "../checkpoint-store/generation.ts";
import type { LocalParts } from "../sandbox/parts.ts";
import { handleOf, type LocalSandboxes } from "../sandbox/sandboxes.ts";
import type { LocalSnapshots } from "../snapshots/local-snapshots.ts";
import { rollBackToDiskSteps, rollBackToMemorySteps } from "../snapshots/steps.ts";
import { validateSpec } from "../validate.ts";

/** The checkpoint part of the driver; `checkpoint/` implements it. */
export class LocalCheckpoint implements CheckpointDriver {
  readonly capabilities: CheckpointCapabilities;
  private readonly parts: LocalParts;
  private readonly sandboxes: LocalSandboxes;
  private readonly snapshots: LocalSnapshots;

  constructor(parts: LocalParts, sandboxes: LocalSandboxes, snapshots: LocalSnapshots) {
    this.parts = parts;
    this.sandboxes = sandboxes;
    this.snapshots = snapshots;
    this.capabilities = { checkpoint: parts.criu ? "memory" : "disk" };
  }

  pause(handle: SandboxHandle, { memory }: PauseOptions, signal: AbortSignal): Promise<Generation> {
    return this.sandboxes.inTurn(handle.sandboxId, async () => {
      signal.throwIfAborted();
      return pauseSandbox(this.parts, this.sandboxes.findRunning(handle), memory, signal);
    });
  }

  async generation(sandboxId: SandboxId): Promise<Generation | undefined> {
    const file = isSandboxId(sandboxId) ? new Generations(this.parts.storage.generationsRoot, sandboxId).whole() : undefined;
    // A sandbox that is still in memory needs no read of its image.
    return file && { ...generationOf(file), ...(this.parts.wakeCache.has(sandboxId) && { memoryBytes: 0 }) };
  }

  resume(spec: SandboxSpec, { memory }: PauseOptions, signal: AbortSignal): Promise<SandboxHandle> {
    return this.sandboxes.inTurn(spec.sandboxId, async () => {
      validateSpec(spec);
      signal.throwIfAborted();
      return this.snapshots.useFor(spec, async (from) => {
        if (!from) return handleOf(await resumeSandbox(this.parts, spec, memory, signal));
        const steps = memory && spec.from?.memory ? rollBackToMemorySteps : rollBackToDiskSteps;
        return handleOf(await resumeBy(() => steps, { parts: this.parts, spec, from }, signal));
      });
    });
  }

  revert(sandboxId: SandboxId): Promise<Generation> {
    return this.sandboxes.inTurn(sandboxId, async () => generationOf(await revertSandbox(this.parts, sandboxId)));
  }

  dropGeneration(handle: SandboxHandle): Promise<void> {
    return this.sandboxes.inTurn(handle.sandboxId, async () => {
      const record = this.sandboxes.find(handle);
      if (this.sandboxes.phaseOf(record) === "paused") {
        throw new AppError("failed_precondition", `Sandbox ${handle.sandboxId} is paused`, { reason: "sandbox_paused" });
      }
      await new Generations(this.parts.storage.generationsRoot, record.sandboxId).removeAll();
    });
  }
}
