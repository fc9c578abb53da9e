import { AppError, systemClock } from "@boxyard/core";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { findServer } from "../server-control/ensure.ts";
import type { ServerFile } from "../server-control/server-file.ts";
import { makeDataDir } from "../server-control/start.ts";
import { stopServer } from "../server-control/stop.ts";
import { installUnit, isInstalled, removeUnit, requireSystemd, trySystemctl, unitFor, unitPath } from "../service/systemd.ts";

interface ServiceOptions {
  readonly name: string;
  readonly print?: boolean;
}

/** As `systemctl status` has it. */
const NOT_RUNNING = 3;
const NOT_INSTALLED = 4;
/** How long a server may take until it answers. */
const SERVING_LIMIT_MS = 60_000;
const POLL_MS = 100;

const INSTALL_HELP = `
The service runs the server from its present path, with the present values of the variables BOXYARD_… and DATABASE_URL (kept in
$BOXYARD_DATA/service.env). A server that runs already is replaced; sandboxes keep running. After a variable has changed, install the service again
or edit that file.

Examples:
  $ sudo BOXYARD_LISTEN=0.0.0.0:3000 boxyard service install
  $ boxyard service install --print`;

export function configure(command: Command, context: CliContext): void {
  command.description("Run the server as a service of systemd: from now on, after a failure and after every boot.");
  const named = (verb: string, description: string) =>
    command
      .command(verb)
      .description(description)
      .option("--name <name>", "name of the unit, for a second server on this machine", "boxyard");
  named("install", "Install and start the service.")
    .option("--print", "only show the unit")
    .addHelpText("after", INSTALL_HELP)
    .action((options: ServiceOptions) => install(options, context));
  named("status", "Show the state of the service. The exit code is 0 when it runs, 3 when it does not, 4 when it is not installed.").action(
    (options: ServiceOptions) => status(options, context),
  );
  named("remove", "Stop the service and remove it. Sandboxes keep running, and the next server takes them over.").action(
    (options: ServiceOptions) => remove(options, context),
  );
}

async function install({ name, print }: ServiceOptions, context: CliContext): Promise<void> {
  const { config, output, signal } = context;
  if (print) return output.write(unitFor(config));
  prepare(name);
  makeDataDir(config);
  await stopServer(config.dataDir, signal);
  installUnit(name, config);
  const server = await untilServing(name, context);
  await output.line(`The service ${name} is installed${server ? `; the server runs at ${server.url}` : " and starts the server"}.`);
}

/** systemd counts the service as started once the server's program runs. The next command must find the server, or it would start a second one. */
async function untilServing(name: string, { config, signal }: CliContext): Promise<ServerFile | undefined> {
  const deadline = systemClock.monotonic() + SERVING_LIMIT_MS;
  for (;;) {
    const server = await findServer(config.dataDir);
    if (server || systemClock.monotonic() > deadline || !isStarting(name)) return server;
    await systemClock.sleep(POLL_MS, signal);
  }
}

/** systemd also reports `activating` between two attempts to start a service that has failed. */
const isStarting = (name: string): boolean => ["active", "activating"].includes(trySystemctl("is-active", `${name}.service`).output);

async function status({ name }: ServiceOptions, context: CliContext): Promise<void> {
  const { config, output } = context;
  if (!isInstalled(name, config)) {
    context.exitCode = NOT_INSTALLED;
    return output.line(`There is no service ${name} for ${config.dataDir}.`);
  }
  const active = trySystemctl("is-active", `${name}.service`);
  const server = await findServer(config.dataDir);
  const boot = trySystemctl("is-enabled", `${name}.service`).ok ? "starts at boot" : "does not start at boot";
  await output.line(
    `service  ${name}: ${active.output}, ${boot}\nunit     ${unitPath(name)}\nserver   ${server ? `${server.url} (pid ${server.pid})` : "none"}`,
  );
  if (!active.ok) context.exitCode = NOT_RUNNING;
}

async function remove({ name }: ServiceOptions, { config, output }: CliContext): Promise<void> {
  prepare(name);
  if (!isInstalled(name, config)) return output.line(`There is no service ${name} for ${config.dataDir}: nothing to remove.`);
  removeUnit(name, config);
  await output.line(`The service ${name} is removed. Sandboxes keep running; \`boxyard up -d\` starts a server by hand.`);
}

function prepare(name: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9:_.@-]{0,63}$/.test(name)) throw usageError(`'${name}' is not a valid name of a unit`);
  if (process.getuid?.() !== 0) {
    throw new AppError("permission_denied", "only root can install and remove services", {
      reason: "no_root",
      details: { hint: "Use sudo." },
    });
  }
  requireSystemd();
}
