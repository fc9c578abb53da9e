import { Argument, type Command } from "commander";
import { completionScript, describeCommands, SHELLS, type Shell } from "../completion-script.ts";
import type { CliContext } from "../context.ts";

const EXAMPLES = `
Examples:
  $ boxyard completion bash > /etc/bash_completion.d/boxyard
  $ boxyard completion zsh > "\${fpath[1]}/_boxyard"
  $ boxyard completion fish > ~/.config/fish/completions/boxyard.fish`;

export function configure(command: Command, context: CliContext): void {
  command
    .description("Print a script that makes a shell complete the commands and options.")
    .addArgument(new Argument("<shell>", "which shell").choices(SHELLS))
    .addHelpText("after", EXAMPLES)
    .action(async (shell: Shell) => {
      // Loaded here: the program loads this file.
      const { buildWholeProgram } = await import("../program.ts");
      await context.output.write(completionScript(shell, describeCommands(await buildWholeProgram(context))));
    });
}
