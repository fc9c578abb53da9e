import { type Command, Option } from "commander";
import { connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import {
  addNetworkOptions,
  collectEnv,
  collectEnvSecrets,
  collectMounts,
  collectPairs,
  parseCount,
  parseSeconds,
  parseSecondsOrNone,
} from "../options.ts";
import { resolveSandbox } from "../sandbox-ref.ts";
import * as actions from "./sandbox-actions.ts";
import { agentLogs, LEVELS, type LogsOptions, logs } from "./sandbox-logs.ts";
import { configureNetwork } from "./sandbox-network.ts";

const STATES = ["running", "paused"] as const;
const ON_TIMEOUT = ["kill", "pause"] as const;

const CREATE_HELP = `
A sandbox that is paused at the end of its lifetime keeps its files, its processes and their memory; \`boxyard sandbox resume\` continues it.
With --auto-resume a request to it does too.

Examples:
  $ boxyard sandbox create
  $ boxyard sandbox create base --timeout 1h --metadata task=42
  $ boxyard sandbox create --timeout 15m --on-timeout pause --auto-resume
  $ boxyard sandbox create --timeout 8h --idle-timeout 10m --on-timeout pause`;

export function configure(command: Command, context: CliContext): void {
  command.description("Create, list, look at and end sandboxes.");
  configureCreate(command, context);
  configureList(command.command("list").alias("ls"), context);

  command
    .command("info <sandbox>")
    .description("Show a sandbox.")
    .option("--json", "print it as JSON")
    .action((id: string, options: { json?: boolean }) => actions.info(id, options, context));

  configureKill(command.command("kill").alias("rm"), context);
  configureLife(command, context);
  configureNetwork(command, context);

  command
    .command("timeout <sandbox>")
    .argument("<seconds>", "lifetime from now: seconds, or 15m, 2h", parseSeconds)
    .description("Set how long a sandbox lives from now on; longer or shorter than before.")
    .addHelpText("after", "\nExamples:\n  $ boxyard sandbox timeout SANDBOX 2h")
    .action((id: string, seconds: number) => actions.timeout(id, seconds, context));

  command
    .command("idle-timeout <sandbox>")
    .argument("<seconds>", "seconds, or 15m, 2h; 0: none", parseSecondsOrNone)
    .description("Set how long a sandbox may be idle, from now on, before it ends or is paused.")
    .addHelpText("after", "\nExamples:\n  $ boxyard sandbox idle-timeout SANDBOX 10m")
    .action((id: string, seconds: number) => actions.idleTimeout(id, seconds, context));

  command
    .command("rename <sandbox> <name>")
    .description("Give a sandbox another name; an empty one takes its name away.")
    .addHelpText("after", "\nExamples:\n  $ boxyard sandbox rename SANDBOX web")
    .action((id: string, name: string) => actions.rename(id, name, context));

  sizeOptions(command.command("resize <sandbox>"))
    .description("Change the processors, memory or disk of a running sandbox, at once.")
    .addHelpText("after", "\nExamples:\n  $ boxyard sandbox resize SANDBOX --memory 2048")
    .action((id: string, options: actions.SizeOptions) => actions.resize(id, options, context));

  command
    .command("metrics <sandbox>")
    .description("Show what a sandbox uses.")
    .option("--json", "print all samples as JSON")
    .action((id: string, options: { json?: boolean }) => actions.metrics(id, options, context));

  command
    .command("logs <sandbox>")
    .description("Show what happened to a sandbox, also after its end.")
    .option("-f, --follow", "go on until it ends")
    .addOption(new Option("--level <level>", "lowest level to show").choices(LEVELS))
    .option("--search <text>", "only lines that hold this text")
    .option("--json", "print each line as JSON")
    .addOption(
      new Option("--agent", "print the agent's last log lines instead; only for a running sandbox").conflicts([
        "follow",
        "level",
        "search",
      ]),
    )
    .action(async (id: string, options: LogsOptions & { agent?: boolean }) => {
      if (options.agent) return agentLogs(id, options, context);
      return logs(await resolveSandbox(id, await connectionToRead(context)), options, context);
    });
}

function configureLife(command: Command, context: CliContext): void {
  command
    .command("pause <sandbox>")
    .description("Stop a sandbox and keep its state, to be resumed.")
    .option("--no-memory", "keep the disk only: a resume boots the sandbox again")
    .action((id: string, options: { memory: boolean }) => actions.pause(id, options, context));

  command
    .command("resume <sandbox>")
    .description("Resume a paused sandbox.")
    .option("--timeout <seconds>", "lifetime from now, at least: seconds, or 15m, 2h", parseSeconds, 300)
    .action((id: string, options: { timeout: number }) => actions.resume(id, options, context));

  command
    .command("fork <sandbox>")
    .description("Make running copies of a sandbox as it is now, memory included, and print their ids.")
    .option("--count <count>", "how many", parseCount, 1)
    .option("--timeout <seconds>", "lifetime of each: seconds, or 15m, 2h", parseSeconds, 300)
    .addHelpText("after", "\nExamples:\n  $ boxyard sandbox fork SANDBOX --count 3")
    .action((id: string, options: actions.ForkOptions) => actions.fork(id, options, context));

  command
    .command("rollback <sandbox> <snapshot>")
    .description(
      "Take a sandbox back to one of its snapshots (`boxyard snapshot list --sandbox SANDBOX`), or to the one that it was made from.",
    )
    .addHelpText("after", "\nExamples:\n  $ boxyard sandbox rollback SANDBOX ready")
    .action((id: string, snapshot: string) => actions.rollback(id, snapshot, context));
}

const sizeOptions = (command: Command): Command =>
  command
    .option("--cpu <count>", "processors, 0.1 or more", Number)
    .option("--memory <MiB>", "memory", parseCount)
    .option("--disk <MiB>", "what it may write beside the template's own files", parseCount);

function configureCreate(command: Command, context: CliContext): void {
  addNetworkOptions(sizeOptions(command.command("create [template]")))
    .description("Create a sandbox and print its id.")
    .option("--timeout <seconds>", "lifetime: seconds, or 15m, 2h", parseSeconds, 300)
    .addOption(new Option("--on-timeout <action>", "what happens at the end of the lifetime (default: kill)").choices(ON_TIMEOUT))
    .option("--idle-timeout <seconds>", "the end comes when nothing has used it for so long: seconds, or 15m, 2h", parseSeconds)
    .option("--auto-resume", "resume it, while it is paused, when a request comes for it")
    .option("-e, --env <KEY=VALUE>", "environment variable of every command, repeatable", collectEnv(context.config.env))
    .option(
      "--env-secret <VARIABLE=SECRET>",
      "environment variable of every command with the value of a stored secret, repeatable",
      collectEnvSecrets,
    )
    .option("-v, --volume <NAME:PATH>", "mount a volume, repeatable; NAME:PATH:ro to read only", collectMounts)
    .option("--name <name>", "a name to find it by, which no other living sandbox has")
    .option("--metadata <KEY=VALUE>", "your own keys and values, repeatable", collectPairs)
    .option("--json", "print it as JSON")
    .addHelpText("after", CREATE_HELP)
    .action((template: string | undefined, options: actions.CreateOptions) => actions.create(template, options, context));
}

function configureKill(command: Command, context: CliContext): void {
  command
    .description("End sandboxes, with all that is in them.")
    .argument("[sandbox...]", "id, name, or beginning of the id of a sandbox")
    .option("--all", "every sandbox of yours")
    .option("-f, --force", "no error when there is no such sandbox")
    .option("--metadata <KEY=VALUE>", "with --all: only those with this metadata, repeatable", collectPairs)
    .addHelpText("after", "\nExamples:\n  $ boxyard rm SANDBOX\n  $ boxyard rm --all --metadata task=42\n  $ boxyard rm $(boxyard ls -q)")
    .action((ids: string[], options: actions.KillOptions) => actions.kill(ids, options, context));
}

function configureList(command: Command, context: CliContext): void {
  command
    .description("List sandboxes, the newest first.")
    .addOption(new Option("--state <state>", "only those in this state").choices(STATES))
    .option("--metadata <KEY=VALUE>", "only those with this metadata, repeatable", collectPairs)
    .option("-t, --template <template>", "only those of this template")
    .option("--limit <count>", "at most so many", parseCount)
    .option("-q, --quiet", "only ids")
    .option("--json", "print them as JSON")
    .addHelpText("after", "\nExamples:\n  $ boxyard ls\n  $ boxyard ls --state paused --metadata task=42")
    .action((options: actions.ListOptions) => actions.list(options, context));
}

/** The short forms of `sandbox list` and `sandbox kill`. */
export const ls = { configure: (command: Command, context: CliContext): void => configureList(command, context) };
export const rm = { configure: (command: Command, context: CliContext): void => configureKill(command, context) };
