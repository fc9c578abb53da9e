import { AppError } from "@boxyard/core";

/** The failure of a build that its owner can mend. `step` is `base`, a number from 1 on, or `finalize`. */
export class BuildFailure extends AppError {
  readonly step: string | undefined;

  constructor(message: string, step?: string, cause?: unknown) {
    super("failed_precondition", message, { reason: "build_failed", cause });
    this.step = step;
  }
}

const MAX_SHOWN = 2000;
/** A command for a message, cut after 2,000 characters. */
export const shown = (command: string) => (command.length > MAX_SHOWN ? `${command.slice(0, MAX_SHOWN)}…` : command);
