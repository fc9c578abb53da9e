import type { CliConfig } from "./config.ts";
import type { Interrupt } from "./interrupt.ts";
import type { Output } from "./output/output.ts";

/** What every command is given. */
export interface CliContext {
  readonly config: CliConfig;
  readonly output: Output;
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
  readonly interrupt: Interrupt;
  /** Exit code of the process when the command has ended without an error. 0 unless set. */
  exitCode: number;
  /** Exit code of boxyard's own failures, where 1 could be the exit code of a command in a sandbox. */
  failureExitCode?: number;
}
