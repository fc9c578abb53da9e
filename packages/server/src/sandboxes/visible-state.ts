import type { SandboxState } from "@boxyard/core";

/** The states that API clients know. */
export type VisibleState = "running" | "paused";

/**
 * What clients see of each state. A sandbox that resumes, or whose processes are replaced, cannot be used yet, so clients see it as paused. They do not
 * see a sandbox that is being created or removed. A sandbox in quarantine, whose record the driver cannot read, keeps the state that it had: the
 * API has no other states, `paused` would promise that a connect resumes it, and without a state it would be 404, although it may be repaired.
 */
const VISIBLE: Readonly<Record<SandboxState, VisibleState | undefined>> = {
  creating: undefined,
  running: "running",
  snapshotting: "running",
  pausing: "paused",
  paused: "paused",
  resuming: "paused",
  rollingBack: "paused",
  rebooting: "paused",
  failed: undefined,
  killing: undefined,
  dead: undefined,
};

export const visibleState = (state: SandboxState): VisibleState | undefined => VISIBLE[state];
