import type { SandboxDriver } from "@boxyard/driver";
import type { TemplateSpec } from "../../../store/index.ts";
import type { BuildLog } from "../log/build-log.ts";
import type { BuildSandboxes, Trial } from "../ports.ts";
import { FINALIZE } from "./finalize.ts";

export interface KeepStartedDeps {
  readonly driver: SandboxDriver;
  readonly buildSandboxes: BuildSandboxes;
  /** Whether templates of this server start from memory. */
  readonly startsFromMemory: boolean;
}

/**
 * Makes a sandbox of the finished template, as users get them, captures it when its start command is ready, and returns the spec with that snapshot:
 * sandboxes start from it. Nothing of the build's environment and secrets is in it. A failure is a warning in the log, because sandboxes can run
 * the start command instead. `id`: the driver's name of the snapshot.
 */
export async function keepStarted(
  trial: Trial,
  id: string,
  { driver, buildSandboxes, startsFromMemory }: KeepStartedDeps,
  log: BuildLog,
  signal: AbortSignal,
): Promise<TemplateSpec> {
  const { spec } = trial;
  const { snapshots, checkpoint } = driver.capabilities;
  // Sandboxes with volumes boot: the memory is of one without.
  if (spec.volumeMounts) return spec;
  if (!startsFromMemory || spec.startCmd === undefined || !snapshots || checkpoint !== "memory") return spec;
  log.add("Keeping the memory of a sandbox with the start command ready", FINALIZE.step);
  try {
    await buildSandboxes.captureStarted(trial, id, signal);
    return { ...spec, started: id };
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    log.add(`Each sandbox will run the start command, because the memory could not be kept: ${why}`, FINALIZE.step, "warn");
    return spec;
  }
}
