import { Argument, type Command } from "commander";
import { completionScript, SHELLS, type Shell } from "../completion/scripts.ts";
import type { CliContext } from "../context.ts";

const EXAMPLES = `
Completes commands, options, and the ids and names that a running server knows. Completion never starts a server.

Examples:
  $ source <(boxyard completion bash)                                    this shell only
  $ boxyard completion bash > /etc/bash_completion.d/boxyard
  $ boxyard completion zsh > "\${fpath[1]}/_boxyard"
  $ boxyard completion fish > ~/.config/fish/completions/boxyard.fish`;

export function configure(command: Command, context: CliContext): void {
  command
    .description("Print a script that makes a shell complete what you type.")
    .addArgument(new Argument("<shell>", "which shell").choices(SHELLS))
    .addHelpText("after", EXAMPLES)
    .action((shell: Shell) => context.output.write(completionScript(shell)));
}
