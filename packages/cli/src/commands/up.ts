import { AppError, EXIT_SETUP_NEEDED } from "@boxyard/core";
import { type Command, Option } from "commander";
import type { CliContext } from "../context.ts";
import { ensureServer, findServer } from "../server-control/ensure.ts";
import { acquireLock } from "../server-control/lock.ts";
import { isOutdated } from "../server-control/outdated.ts";
import { runRole, runSetup } from "../server-control/roles.ts";
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
    .addHelpText("after", "\nExamples:\n  $ boxyard up -d\n  $ BOXYARD_LISTEN=0.0.0.0:8080 boxyard up")
    .action(async ({ detach, logFormat }: { detach?: boolean; logFormat?: string }) => {
      const env = { ...context.config.env, ...(logFormat && { BOXYARD_LOG_FORMAT: logFormat }) };
      const own = { ...context, config: { ...context.config, env } };
      await (detach ? upDetached(own) : upForeground(own));
      context.exitCode = own.exitCode;
    });
}

async function upDetached(context: CliContext): Promise<void> {
  const { config, output, signal } = context;
  const before = await findServer(config.dataDir);
  const restart = before !== undefined && isOutdated(config.dataDir);
  if (restart) {
    output.note("the server is not of this version: starting it again (sandboxes run on)");
    await stopServer(config.dataDir, signal);
  }
  const server = before && !restart ? before : await ensureServer(context);
  await output.line(`${server === before ? "The server is running already" : "The server runs"} at ${server.url} (pid ${server.pid}).`);
  output.note(output.dim('Next: eval "$(boxyard env)", or boxyard run -- COMMAND'));
}

async function upForeground(context: CliContext): Promise<void> {
  const { config, output } = context;
  const running = await findServer(config.dataDir);
  if (running) {
    const message = `a server is running already at ${running.url} (pid ${running.pid})`;
    throw new AppError("already_exists", message, { reason: "server_running", details: { hint: "`boxyard down` stops it." } });
  }
  makeDataDir(config);
  context.exitCode = await runRole(config, "serve", [], "progress");
  if (context.exitCode !== EXIT_SETUP_NEEDED) return;
  const onWait = () => output.note("another boxyard command is setting this machine up; waiting for it");
  const lock = await acquireLock(config.dataDir, { limitMs: LOCK_LIMIT_MS, onWait, signal: context.signal });
  try {
    await runSetup(config);
  } finally {
    lock.release();
  }
  context.exitCode = await runRole(config, "serve", [], "progress");
}
