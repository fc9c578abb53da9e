import type { AgentAccess } from "@boxyard/agent-client";
import type { TeamId, TemplateId } from "@boxyard/core";
import type { ImageRef, LayerInfo, ResourceLimits } from "@boxyard/driver";
import type { TemplateSpec } from "../../store/index.ts";

/** A build's request for a sandbox. */
export interface WantedSandbox {
  readonly teamId: TeamId;
  readonly templateId: TemplateId;
  readonly buildId: string;
  readonly image: ImageRef;
  readonly resources: ResourceLimits;
}

/** A sandbox in which a build runs its steps. */
export interface OpenSandbox {
  readonly agent: AgentAccess;
  /** Makes a layer of all changes of the sandbox's disk, but for the paths of `leaveOut`. Processes that still run are frozen meanwhile. */
  commit(leaveOut: readonly string[], signal: AbortSignal): Promise<LayerInfo>;
  /** Repeatable; never throws. */
  close(): Promise<void>;
}

/** A finished version of a template, from which a build starts a sandbox to try it. */
export interface Trial {
  readonly teamId: TeamId;
  readonly templateId: TemplateId;
  readonly buildId: string;
  readonly spec: TemplateSpec;
}

/** What builds need of sandboxes. `sandboxes/` has it; the two meet in `context.ts`. */
export interface BuildSandboxes {
  /** Makes a sandbox; returns it when it runs. */
  open(wanted: WantedSandbox, signal: AbortSignal): Promise<OpenSandbox>;
  /** Makes a sandbox of a template, waits until its start command is ready, captures it as the snapshot `id`, and removes it. */
  captureStarted(trial: Trial, id: string, signal: AbortSignal): Promise<void>;
}

/** Keeps snapshots that a build works on. */
export interface SnapshotHolder {
  /** Makes a name for a new snapshot and holds that until it is disposed of. */
  hold(): Disposable & { readonly id: string };
}
