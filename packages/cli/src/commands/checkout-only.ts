import type { Command } from "commander";
import type { CommandModule } from "../command-module.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";

/** A command that `./boxyard` of a checkout passes to a tool of the checkout: the command line client only lists and describes it. */
export function checkoutOnly(name: string): CommandModule {
  return {
    configure(command: Command, _context: CliContext): void {
      command
        .addHelpText("after", `\nOnly in a checkout: ./boxyard ${name} --help says more.`)
        .argument("[words...]")
        .action(() => {
          throw usageError(`'${name}' needs a checkout of the sources: there it is ./boxyard ${name}`);
        });
    },
  };
}
