import { AppError, EXIT_SETUP_NEEDED } from "@boxyard/core";
import { type Command, Option } from "commander";
import type { CliContext } from "../context.ts";
import { ensureServer, findServer } from "../server-control/ensure.ts";
import { acquireLock } from "../server-control/lock.ts";
import { isOutdated } from "../server-control/outdated.ts";
import { runRole, runSetup } from "../server-control/roles.ts";
import type { ServerFile } from "../server-control/server-file.ts";
import { makeDataDir } from "../server-control/start.ts";
import { stopServer } from "../server-control/stop.ts";

const LOCK_LIMIT_MS = 30 * 60_000;

export function configure(command: Command, context: CliContext): void {
  command
    .description(
      "Start the server on this machine; on first use, set the machine up. In the foreground until Ctrl-C, or with -d in the background.",
    )
    .option("-d, --detach", "in the background; its log is $BOXYARD_DATA/server.log")
    .addOption(
      new Option("--log-format <format>", "lines of its log: text for people, or json; auto is text on a terminal").choices([
        "auto",
        "text",
        "json",
      ]),
    )
    .addOption(
      new Option(
        "--adopt-orphans",
        "make records again for sandboxes that the store does not know; their metadata and the end of their lifetime are lost",
      ).conflicts("removeOrphans"),
    )
    .option("--remove-orphans", "end sandboxes that the store does not know")
    .addHelpText("after", "\nExamples:\n  $ boxyard up -d\n  $ BOXYARD_LISTEN=0.0.0.0:8080 boxyard up")
    .action(async ({ detach, logFormat, ...orphans }: UpOptions) => {
      const env = { ...context.config.env, ...(logFormat && { BOXYARD_LOG_FORMAT: logFormat }) };
      const own = { ...context, config: { ...context.config, env } };
      const args = orphanArgs(orphans);
      await (detach ? upDetached(own, args) : upForeground(own, args));
      context.exitCode = own.exitCode;
    });
}

interface UpOptions {
  readonly detach?: boolean;
  readonly logFormat?: string;
  readonly adoptOrphans?: boolean;
  readonly removeOrphans?: boolean;
}

const orphanArgs = ({ adoptOrphans, removeOrphans }: UpOptions): string[] => [
  ...(adoptOrphans ? ["--adopt-orphans"] : []),
  ...(removeOrphans ? ["--remove-orphans"] : []),
];

function alreadyRunning({ url, pid }: ServerFile): AppError {
  const message = `a server is running already at ${url} (pid ${pid})`;
  return new AppError("already_exists", message, { reason: "server_running", details: { hint: "`boxyard down` stops it." } });
}

async function upDetached(context: CliContext, args: readonly string[]): Promise<void> {
  const { config, output, signal } = context;
  const before = await findServer(config.dataDir);
  // A server reads the options about orphans only at its start.
  if (before && args.length > 0) throw alreadyRunning(before);
  const restart = before !== undefined && isOutdated(config.dataDir);
  if (restart) {
    output.note("the server is of another version: restarting it (sandboxes keep running)");
    await stopServer(config.dataDir, signal);
  }
  const server = before && !restart ? before : await ensureServer(context, args);
  await output.line(`${server === before ? "The server is running already" : "The server runs"} at ${server.url} (pid ${server.pid}).`);
  output.note(output.dim('Next: eval "$(boxyard env)", or boxyard run -- COMMAND'));
}

async function upForeground(context: CliContext, args: readonly string[]): Promise<void> {
  const { config, output } = context;
  const running = await findServer(config.dataDir);
  if (running) throw alreadyRunning(running);
  makeDataDir(config);
  context.exitCode = await runRole(config, "serve", args, "progress");
  if (context.exitCode !== EXIT_SETUP_NEEDED) return;
  const onWait = () => output.note("another boxyard command is setting this machine up; waiting for it");
  const lock = await acquireLock(config.dataDir, { limitMs: LOCK_LIMIT_MS, onWait, signal: context.signal });
  try {
    await runSetup(config);
  } finally {
    lock.release();
  }
  context.exitCode = await runRole(config, "serve", args, "progress");
}
