import type { Sandbox } from "@boxyard/sdk";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { EXIT, usageError } from "../errors.ts";
import { collectEnv, parseSeconds } from "../options.ts";
import { type RemoteCommandOptions, runRemote } from "../remote-command.ts";
import { attachSandbox } from "../sandbox-ref.ts";
import { needTerminal, runInTerminal } from "../terminal/run-in-terminal.ts";

interface ExecOptions extends RemoteCommandOptions {
  readonly detach?: boolean;
  readonly tty?: boolean;
}

const EXAMPLES = `
The command is started without a shell, with its arguments unchanged. The exit code is the command's: 126 when it cannot be executed, 127 when
there is no such program, 128 plus the signal's number when a signal ended it. It is 125 when boxyard itself fails.
Ctrl-C and SIGTERM go to the command; the second one kills it.

Examples:
  $ boxyard exec SANDBOX -- ls -l
  $ boxyard exec -it SANDBOX -- bash
  $ boxyard exec -i SANDBOX -- tar x < directory.tar
  $ boxyard exec -d SANDBOX -- python3 -m http.server 8000     prints its process id, PID
  $ boxyard logs -f SANDBOX PID                                shows what it prints`;

export function configure(command: Command, context: CliContext): void {
  context.failureExitCode = EXIT.ownFailure;
  command
    .description("Run a command in a running sandbox.")
    .argument("<sandbox>", "id, name, or beginning of the id of a sandbox")
    .argument("<command...>", "the program and its arguments")
    .option(
      "-e, --env <KEY=VALUE>",
      "environment variable, repeatable; KEY alone takes the value from your environment",
      collectEnv(context.config.env),
    )
    .option("-w, --cwd <path>", "working directory (default: the user's home)")
    .option("-u, --user <name>", "user in the sandbox (default: the template's)")
    .option("--timeout <seconds>", "end the command after this time, with exit code 124", parseSeconds)
    .option("-i, --stdin", "pass on standard input")
    .option("-t, --tty", "run it in a terminal that is connected to yours; -it is the same")
    .option("-d, --detach", "start it, print its process id, and leave it running")
    .option("-b, --background", "the same as --detach")
    .passThroughOptions()
    .addHelpText("after", EXAMPLES)
    .action((id: string, argv: string[], { background, ...options }: ExecOptions & { background?: boolean }) =>
      exec(id, argv, background ? { ...options, detach: true } : options, context),
    );
}

async function exec(id: string, words: readonly string[], options: ExecOptions, context: CliContext): Promise<void> {
  // The parser passes on every word after the id, also a -- before the command.
  const argv = words[0] === "--" ? words.slice(1) : words;
  if (argv.length === 0) throw usageError("no command was given: boxyard exec SANDBOX -- COMMAND");
  if (argv === words && words[0]?.startsWith("-")) {
    throw usageError(`options go before the sandbox: boxyard exec ${words[0]} … ${id} -- COMMAND`);
  }
  if (options.tty) needTerminal("leave out -t");
  const sandbox = await attachSandbox(id, context);
  if (options.detach) await detach(sandbox, argv, options, context);
  else if (options.tty) await inTerminal(sandbox, argv, options, context);
  else context.exitCode = await runRemote(sandbox, argv, options, context);
}

async function detach(sandbox: Sandbox, argv: readonly string[], options: ExecOptions, context: CliContext): Promise<void> {
  const [program, ...args] = argv;
  const { env: envs, cwd, user, timeout } = options;
  const timeoutMs = timeout ? Math.ceil(timeout * 1000) : 0;
  const handle = await sandbox.commands.spawn([program as string, ...args], { envs, cwd, user, timeoutMs, retainOutput: false });
  await handle.disconnect();
  await context.output.line(String(handle.pid));
}

async function inTerminal(sandbox: Sandbox, argv: readonly string[], options: ExecOptions, context: CliContext): Promise<void> {
  const end = await runInTerminal(sandbox, argv, options, context);
  if (end.detached) context.output.note(`\ndetached; \`boxyard attach ${sandbox.sandboxId} ${end.pid}\` reconnects`);
  else context.exitCode = end.exitCode;
}
