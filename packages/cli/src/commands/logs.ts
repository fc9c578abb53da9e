import { type Command, Option } from "commander";
import { connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { parseCount } from "../options.ts";
import { attachSandbox, resolveSandbox } from "../sandbox-ref.ts";
import { processLogs } from "./processes.ts";
import { LEVELS, type LogsOptions, logs } from "./sandbox-logs.ts";

const EXAMPLES = `
The sandbox keeps the last 512 KiB of a command's output, also for some minutes after the command's end. \`boxyard ps SANDBOX\` shows the process
ids of running commands, including the template's start command.

Examples:
  $ boxyard logs SANDBOX             what happened to the sandbox
  $ boxyard logs -f SANDBOX PID      what a command prints, until its end`;

export function configure(command: Command, context: CliContext): void {
  command
    .description("Show what a command in a sandbox printed; without a process id, what happened to the sandbox, also after its end.")
    .argument("<sandbox>", "id, name, or beginning of the id of a sandbox")
    .argument("[pid]", "process id of a command", parseCount)
    .option("-f, --follow", "go on until it ends")
    .addOption(new Option("--level <level>", "of a sandbox: lowest level to show").choices(LEVELS))
    .option("--search <text>", "of a sandbox: only lines that hold this text")
    .option("--json", "of a sandbox: print each line as JSON")
    .addHelpText("after", EXAMPLES)
    .action((id: string, pid: number | undefined, options: LogsOptions) => show(id, pid, options, context));
}

async function show(id: string, pid: number | undefined, options: LogsOptions, context: CliContext): Promise<void> {
  if (pid === undefined) return logs(await resolveSandbox(id, await connectionToRead(context)), options, context);
  return processLogs(await attachSandbox(id, context), pid, options.follow === true, context);
}
