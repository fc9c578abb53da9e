import { AppError, type SandboxId } from "@boxyard/core";
import type { CheckpointCapabilities, CheckpointDriver } from "../checkpoint/checkpoint.ts";
import type { Generation, PauseOptions } from "../checkpoint/generation.ts";
import type { SandboxHandle } from "../handle.ts";
import type { SandboxSpec } from "../runtime/types.ts";
import { type FakeSandboxes, validate } from "./sandboxes.ts";
import { type FakeSnapshots, mayKeep } from "./snapshots.ts";
import type { FakeVolumes } from "./volumes.ts";
import type { FakeSandbox, FakeWorld } from "./world.ts";

/** Generations that are copies of a fake sandbox's files. */
export class FakeCheckpoint implements CheckpointDriver {
  readonly capabilities: CheckpointCapabilities;
  private readonly world: FakeWorld;
  private readonly sandboxes: FakeSandboxes;
  private readonly snapshots: FakeSnapshots;
  private readonly volumes: FakeVolumes;

  constructor(world: FakeWorld, sandboxes: FakeSandboxes, snapshots: FakeSnapshots, volumes: FakeVolumes) {
    this.world = world;
    this.sandboxes = sandboxes;
    this.snapshots = snapshots;
    this.volumes = volumes;
    this.capabilities = { checkpoint: world.checkpoint };
  }

  pause(handle: SandboxHandle, { memory }: PauseOptions, signal: AbortSignal): Promise<Generation> {
    return this.world.faults.around("pause", signal, async () => {
      signal.throwIfAborted();
      const sandbox = this.sandboxes.alive(handle);
      mayKeep(this.capabilities.checkpoint, memory);
      const facts = this.world.keep(sandbox, memory);
      await this.world.rest(sandbox);
      sandbox.standing = memory && this.world.keepsProcesses;
      return facts;
    });
  }

  generation(sandboxId: SandboxId): Promise<Generation | undefined> {
    return this.world.faults.around("generation", undefined, async () => {
      const sandbox = this.world.sandboxes.get(sandboxId);
      if (!sandbox?.generation) return undefined;
      this.sandboxes.mustBeReadable(sandbox);
      return { ...sandbox.generation.facts, ...(sandbox.standing && { memoryBytes: 0 }) };
    });
  }

  async resume(spec: SandboxSpec, _options: PauseOptions, signal: AbortSignal): Promise<SandboxHandle> {
    signal.throwIfAborted();
    validate(spec);
    const sandbox = this.findGeneration(spec.sandboxId);
    if (sandbox.phase !== "paused" || spec.incarnation <= sandbox.handle.incarnation) {
      throw new AppError("failed_precondition", `Sandbox ${spec.sandboxId} is not paused before that incarnation`, {
        reason: "not_paused",
      });
    }
    this.volumes.check(spec, sandbox.spec.volumes ?? []);
    if (spec.from) this.volumes.check(spec, this.snapshots.volumesFor(spec));
    // A resume that starts the agent fails as a start does.
    return this.world.faults.around("resume", signal, () =>
      this.world.faults.around("start", signal, async () => {
        this.world.wake(sandbox, structuredClone(spec), spec.from && this.snapshots.filesFor(spec));
        this.sandboxes.know(spec.sandboxId);
        return sandbox.handle;
      }),
    );
  }

  revert(sandboxId: SandboxId): Promise<Generation> {
    return this.world.faults.around("revert", undefined, async () => {
      const sandbox = this.findGeneration(sandboxId);
      await this.world.rest(sandbox);
      return sandbox.generation.facts;
    });
  }

  dropGeneration(handle: SandboxHandle): Promise<void> {
    return this.world.faults.around("dropGeneration", undefined, async () => {
      const sandbox = this.sandboxes.find(handle);
      if (sandbox.phase === "paused") {
        throw new AppError("failed_precondition", `Sandbox ${handle.sandboxId} is paused`, { reason: "sandbox_paused" });
      }
      delete sandbox.generation;
    });
  }

  private findGeneration(sandboxId: SandboxId): FakeSandbox & Required<Pick<FakeSandbox, "generation">> {
    const sandbox = this.world.sandboxes.get(sandboxId);
    if (sandbox) this.sandboxes.mustBeReadable(sandbox);
    if (sandbox?.generation) return sandbox as FakeSandbox & Required<Pick<FakeSandbox, "generation">>;
    throw new AppError("not_found", `Sandbox ${sandboxId} is not paused`, { reason: "generation_not_found" });
  }
}
