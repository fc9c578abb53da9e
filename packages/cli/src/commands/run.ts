import { Sandbox } from "@boxyard/sdk";
import type { Command } from "commander";
import { connection } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { LEASE_MS, renewLease } from "../lease.ts";
import { collectEnv, parseSeconds } from "../options.ts";
import { type RemoteCommandOptions, runRemote } from "../remote-command.ts";

interface RunOptions extends RemoteCommandOptions {
  readonly template: string;
  readonly keep?: boolean;
  readonly internet: boolean;
}

/** Lifetime of a sandbox that is kept. */
const KEEP_MS = 300_000;

const EXAMPLES = `
The command is started as it stands, without a shell, and its exit code is ours. Everything from the first word on
belongs to it; -- before it makes that plain.

Examples:
  $ boxyard run -- python3 -c 'print(6*7)'
  $ boxyard run -e NAME=world -- sh -c 'echo hello $NAME'
  $ boxyard run -i -- wc -l < file.txt
  $ boxyard run --timeout 10 --user root -- apt-get update`;

export function configure(command: Command, context: CliContext): void {
  command
    .description("Run a command in a new sandbox and remove the sandbox when it has ended.")
    .argument("<command...>", "the program and its arguments")
    .option("-t, --template <template>", "template to start from", "base")
    .option("-e, --env <KEY=VALUE>", "environment variable, repeatable; KEY alone passes on your own", collectEnv(context.config.env))
    .option("--cwd <path>", "working directory (default: the user's home)")
    .option("--user <name>", "user in the sandbox (default: the template's)")
    .option("--timeout <seconds>", "end the command after this time, with exit code 124", parseSeconds)
    .option("-i, --stdin", "pass on standard input")
    .option("--keep", "keep the sandbox for five minutes and print its id")
    .option("--no-internet", "no way out of the sandbox")
    .passThroughOptions()
    .addHelpText("after", EXAMPLES)
    .action((argv: string[], options: RunOptions) => run(argv, options, context));
}

async function run(argv: readonly string[], options: RunOptions, context: CliContext): Promise<void> {
  const sandbox = await Sandbox.create(options.template, {
    ...(await connection(context)),
    timeoutMs: LEASE_MS,
    ...(options.internet ? {} : { allowInternetAccess: false }),
  });
  const lease = renewLease(sandbox);
  try {
    context.exitCode = await runRemote(sandbox, argv, options, context);
  } finally {
    lease.stop();
    await finish(sandbox, options.keep === true && !context.signal.aborted, context);
  }
}

async function finish(sandbox: Sandbox, keep: boolean, context: CliContext): Promise<void> {
  if (keep) {
    await sandbox.setTimeout(KEEP_MS);
    context.output.note(
      `sandbox ${sandbox.sandboxId} is kept for ${KEEP_MS / 60_000} minutes; \`boxyard shell ${sandbox.sandboxId}\` opens it`,
    );
    return;
  }
  // If this fails, the lease ends the sandbox within a minute; what the command said matters more.
  await sandbox.kill().catch((error: unknown) => {
    context.output.note(`note: sandbox ${sandbox.sandboxId} could not be removed now and ends by itself within a minute: ${String(error)}`);
  });
}
