import type { SandboxDriver } from "@boxyard/driver";
import type { BuildSandboxes } from "../../../sandboxes/build-sandboxes.ts";
import type { Trial } from "../../../sandboxes/create/new-record.ts";
import type { TemplateSpec } from "../../../store/index.ts";
import type { BuildLog } from "../log/build-log.ts";
import { FINALIZE } from "./finalize.ts";

export interface KeepStartedDeps {
  readonly driver: SandboxDriver;
  readonly buildSandboxes: BuildSandboxes;
  /** Whether templates of this server start from memory at all. */
  readonly startsFromMemory: boolean;
}

/**
 * Keeps the memory of a sandbox of the finished template in which the start command is ready, so that others start from that. A sandbox of its
 * own, as users get them: nothing of the build's environment and secrets is in it. A template without works as well; so a failure is a warning.
 * `id`: the driver's name of what is kept.
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
