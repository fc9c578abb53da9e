import { AppError } from "./errors.ts";

/** Legal moves of a sandbox. The only place that says so; the diagram in ARCHITECTURE.md follows it. */
export const MOVES = {
  creating: ["running", "failed", "killing"],
  running: ["pausing", "snapshotting", "rollingBack", "rebooting", "killing", "failed"],
  pausing: ["paused", "running", "killing", "failed"],
  snapshotting: ["running", "killing", "failed"],
  paused: ["resuming", "rollingBack", "killing"],
  resuming: ["running", "paused", "killing", "failed"],
  rollingBack: ["running", "paused", "killing", "failed"],
  rebooting: ["running", "paused", "killing", "failed"],
  failed: ["killing"],
  killing: ["dead"],
  dead: [],
} as const satisfies Record<string, readonly string[]>;

export type SandboxState = keyof typeof MOVES;

/** A state from which a sandbox can still go on: everything but `dead`. */
export type LivingState = Exclude<SandboxState, "dead">;

export function canMove(from: SandboxState, to: SandboxState): boolean {
  return (MOVES[from] as readonly string[]).includes(to);
}

/** Throws `aborted`, reason `illegal_move`, naming both ends. */
export function assertMove(from: SandboxState, to: SandboxState): void {
  if (!canMove(from, to)) {
    throw new AppError("aborted", `A sandbox in state '${from}' cannot become '${to}'`, { reason: "illegal_move", details: { from, to } });
  }
}
