import { Sandbox } from "@boxyard/sdk";
import type { Command } from "commander";
import { connection } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT } from "../errors.ts";
import { LEASE_MS, renewLease } from "../lease.ts";
import {
  addNetworkOptions,
  collectEnv,
  collectEnvSecrets,
  collectMounts,
  type MountOption,
  type NetworkChoice,
  networkOf,
  parseSeconds,
} from "../options.ts";
import { type RemoteCommandOptions, runRemote } from "../remote-command.ts";
import { checkName } from "../sandbox-ref.ts";
import { needTerminal, runInTerminal } from "../terminal/run-in-terminal.ts";

interface RunOptions extends RemoteCommandOptions, NetworkChoice {
  readonly tty?: boolean;
  readonly name?: string;
  readonly volume?: Record<string, MountOption>;
  readonly envSecret?: Record<string, string>;
  readonly template: string;
  readonly keep?: boolean;
  readonly quiet?: boolean;
}

/** Lifetime of a sandbox that is kept. */
const KEEP_MS = 300_000;

const EXAMPLES = `
The command is started without a shell, with its arguments unchanged. The exit code is the command's: 126 when it cannot be executed, 127 when
there is no such program, 128 plus the signal's number when a signal ended it. It is 125 when boxyard itself fails.
Everything from the first word on belongs to the command, with or without -- before it. Ctrl-C and SIGTERM go to the command; the second one kills it.

Examples:
  $ boxyard run -- python3 -c 'print(6*7)'
  $ boxyard run -e NAME=world -- sh -c 'echo hello $NAME'
  $ boxyard run -it -- bash
  $ boxyard run -i -- wc -l < file.txt
  $ boxyard run --timeout 10 --user root -- id
  $ boxyard run --network none -- sh -c 'echo no internet'`;

export function configure(command: Command, context: CliContext): void {
  context.failureExitCode = EXIT.ownFailure;
  addNetworkOptions(command)
    .description("Run a command in a new sandbox and remove the sandbox when it has ended.")
    .argument("<command...>", "the program and its arguments")
    .option("-t, --template <template>", "template to start from", "base")
    .option(
      "-e, --env <KEY=VALUE>",
      "environment variable, repeatable; KEY alone takes the value from your environment",
      collectEnv(context.config.env),
    )
    .option("--env-secret <VARIABLE=SECRET>", "environment variable with the value of a stored secret, repeatable", collectEnvSecrets)
    .option("-w, --cwd <path>", "working directory (default: the user's home)")
    .option("-u, --user <name>", "user in the sandbox (default: the template's)")
    .option("--timeout <seconds>", "end the command after this time, with exit code 124", parseSeconds)
    .option("-i, --stdin", "pass on standard input")
    .option("--tty", "run it in a terminal that is connected to yours; -it is the same")
    .option("--rm", "remove the sandbox when the command has ended (the default)")
    .option("-v, --volume <NAME:PATH>", "mount a volume, repeatable; NAME:PATH:ro to read only", collectMounts)
    .option("--name <name>", "a name to find the sandbox by")
    .option("--keep", "keep the sandbox for five minutes and print its id")
    .option("-q, --quiet", "print only the command's output and, with --keep, the sandbox's id")
    .passThroughOptions()
    .addHelpText("after", EXAMPLES)
    .action((argv: string[], options: RunOptions) => run(argv, options, context));
}

async function run(argv: readonly string[], options: RunOptions, context: CliContext): Promise<void> {
  if (options.tty) needTerminal("give -i instead of -it");
  context.output.quiet = options.quiet === true;
  const target = await connection(context);
  const sandbox = await Sandbox.create(options.template, {
    ...target,
    timeoutMs: LEASE_MS,
    ...(options.name === undefined ? {} : { name: checkName(options.name) }),
    volumes: options.volume,
    envSecrets: options.envSecret,
    ...networkOf(options),
  });
  const lease = renewLease(sandbox);
  try {
    if (options.tty) {
      const end = await runInTerminal(sandbox, argv, options, context);
      // The sandbox is removed now, and with it a session that was detached.
      context.exitCode = end.detached ? 0 : end.exitCode;
    } else context.exitCode = await runRemote(sandbox, argv, options, context);
  } finally {
    lease.stop();
    await finish(sandbox, options.keep === true && !context.signal.aborted, context);
  }
}

async function finish(sandbox: Sandbox, keep: boolean, context: CliContext): Promise<void> {
  if (keep) {
    await sandbox.setTimeout(KEEP_MS);
    if (context.output.quiet) await context.output.writeError(`${sandbox.sandboxId}\n`);
    context.output.note(
      `sandbox ${sandbox.sandboxId} is kept for ${KEEP_MS / 60_000} minutes; \`boxyard shell ${sandbox.sandboxId}\` opens it`,
    );
    return;
  }
  // If this fails, the lease ends the sandbox within a minute; the command's own result matters more.
  await sandbox.kill().catch((error: unknown) => {
    context.output.note(`note: sandbox ${sandbox.sandboxId} could not be removed now and ends by itself within a minute: ${String(error)}`);
  });
}
