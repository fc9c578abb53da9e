import type { Command } from "commander";
import type { CliContext } from "./context.ts";

/** What a file in `commands/` exports: it is loaded only when its command is used. */
export interface CommandModule {
  /** Adds arguments, options, examples and actions to the command of this name. */
  configure(command: Command, context: CliContext): void;
}
