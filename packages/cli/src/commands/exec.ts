import { Sandbox } from "@boxyard/sdk";
import type { Command } from "commander";
import { connection } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { collectEnv, parseSeconds } from "../options.ts";
import { type RemoteCommandOptions, runRemote } from "../remote-command.ts";

interface ExecOptions extends RemoteCommandOptions {
  readonly background?: boolean;
}

const EXAMPLES = `
The command is started as it stands, without a shell, and its exit code is ours.

Examples:
  $ boxyard exec SANDBOX -- ls -l
  $ boxyard exec -i SANDBOX -- tar x < folder.tar
  $ boxyard exec -b SANDBOX -- python3 -m http.server 8000`;

export function configure(command: Command, context: CliContext): void {
  command
    .description("Run a command in a running sandbox.")
    .argument("<sandbox>", "id of the sandbox")
    .argument("<command...>", "the program and its arguments")
    .option("-e, --env <KEY=VALUE>", "environment variable, repeatable; KEY alone passes on your own", collectEnv(context.config.env))
    .option("--cwd <path>", "working directory (default: the user's home)")
    .option("--user <name>", "user in the sandbox (default: the template's)")
    .option("--timeout <seconds>", "end the command after this time, with exit code 124", parseSeconds)
    .option("-i, --stdin", "pass on standard input")
    .option("-b, --background", "start it, print its process id, and leave it running")
    .passThroughOptions()
    .addHelpText("after", EXAMPLES)
    .action((id: string, argv: string[], options: ExecOptions) => exec(id, argv, options, context));
}

async function exec(id: string, words: readonly string[], options: ExecOptions, context: CliContext): Promise<void> {
  // What follows the id is passed through as it stands, a -- before the command too.
  const argv = words[0] === "--" ? words.slice(1) : words;
  if (argv.length === 0) throw usageError("which command? boxyard exec SANDBOX -- COMMAND");
  if (argv === words && words[0]?.startsWith("-")) {
    throw usageError(`options stand before the sandbox: boxyard exec ${words[0]} … ${id} -- COMMAND`);
  }
  const sandbox = await attach(id, context);
  if (!options.background) {
    context.exitCode = await runRemote(sandbox, argv, options, context);
    return;
  }
  const [program, ...args] = argv;
  const { env: envs, cwd, user, timeout } = options;
  const timeoutMs = timeout ? Math.ceil(timeout * 1000) : 0;
  const handle = await sandbox.commands.spawn([program as string, ...args], { envs, cwd, user, timeoutMs, retainOutput: false });
  await handle.disconnect();
  await context.output.line(String(handle.pid));
}

/** A sandbox that exists already. Its lifetime is not changed, or only by what the server needs to answer at all. */
export async function attach(id: string, context: CliContext): Promise<Sandbox> {
  return Sandbox.connect(id, { ...(await connection(context)), timeoutMs: 1000 });
}
