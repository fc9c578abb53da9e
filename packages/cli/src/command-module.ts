import type { Command } from "commander";
import type { CliContext } from "./context.ts";

/** Makes the whole program and loads the command that the words name. */
export type BuildProgram = (words: readonly string[], context: CliContext) => Promise<Command>;

/** What a file in `commands/` exports: it is loaded only when its command is used. */
export interface CommandModule {
  /** Adds arguments, options, examples and actions to the command of this name. */
  configure(command: Command, context: CliContext, build: BuildProgram): void;
}
