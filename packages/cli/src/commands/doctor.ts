import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { runRole } from "../server-control/roles.ts";

export function configure(command: Command, context: CliContext): void {
  command
    .description("Say what this machine can do (runtime, cgroups, checkpoint, storage pool, network), and how to fix what it cannot.")
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExamples:\n  $ boxyard doctor\n  $ boxyard doctor --json")
    .action(async (options: { json?: boolean }) => {
      context.exitCode = await runRole(context.config, "doctor", options.json ? ["--json"] : [], "result");
    });
}
