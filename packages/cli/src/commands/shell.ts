import { type CommandHandle, type ProcessInfo, Sandbox } from "@boxyard/sdk";
import type { Command } from "commander";
import { connection } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT, usageError } from "../errors.ts";
import { LEASE_MS, renewLease } from "../lease.ts";
import { collectEnv, collectMounts, type MountOption } from "../options.ts";
import { resolveSandbox } from "../sandbox-ref.ts";
import { SESSION_TAG } from "../terminal/run-in-terminal.ts";
import { runSession, terminalSize } from "../terminal/session.ts";

interface ShellOptions {
  readonly template?: string;
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  readonly user?: string;
  readonly volume?: Record<string, MountOption>;
  readonly attach?: boolean | string;
  readonly keep?: boolean;
}

/** Lifetime of a sandbox that outlives the shell. */
const KEPT_MS = 3_600_000;
/** Longest wait for a program to draw after its window has changed. */
const REDRAW_LIMIT_MS = 2000;

const EXAMPLES = `
Ctrl-] d detaches: the session keeps running, and --attach reconnects to it. Ctrl-] Ctrl-] sends one Ctrl-].
The exit code is the session's.

Examples:
  $ boxyard shell                        a new sandbox, removed when the shell ends
  $ boxyard shell -t code-interpreter    the same from another template
  $ boxyard shell SANDBOX                a new session in a running sandbox
  $ boxyard shell SANDBOX -- top         a program other than bash
  $ boxyard shell SANDBOX --attach       reconnect to the detached session`;

export function configure(command: Command, context: CliContext): void {
  context.failureExitCode = EXIT.ownFailure;
  command
    .description("Open a terminal in a sandbox: a new one, or with an id a running one.")
    .argument("[sandbox]", "id, name, or beginning of the id of a sandbox")
    .argument("[command...]", "the program and its arguments (default: bash)")
    .option("-t, --template <template>", "template of a new sandbox (default: base)")
    .option(
      "-e, --env <KEY=VALUE>",
      "environment variable, repeatable; KEY alone takes the value from your environment",
      collectEnv(context.config.env),
    )
    .option("--cwd <path>", "working directory (default: the user's home)")
    .option("--user <name>", "user in the sandbox (default: the template's)")
    .option("-v, --volume <NAME:PATH>", "mount a volume in a new sandbox, repeatable; NAME:PATH:ro to read only", collectMounts)
    .option("--attach [pid]", "reconnect to a session, by its process id if there are several")
    .option("--keep", "keep a new sandbox for an hour when the shell ends")
    .addHelpText("after", EXAMPLES)
    .action((id: string | undefined, argv: string[], options: ShellOptions) => shell(id, argv, options, context));
}

async function shell(id: string | undefined, argv: readonly string[], options: ShellOptions, context: CliContext): Promise<void> {
  if (!process.stdin.isTTY) {
    throw usageError(
      "a shell needs a terminal; for commands from a pipe use `boxyard run -i -- bash`, or `boxyard exec -i SANDBOX -- bash`",
    );
  }
  if (!id && options.attach) throw usageError("--attach needs the id of a sandbox; `boxyard sandbox list` shows them");
  if (id && options.volume) throw usageError("--volume is for a new sandbox: one that runs keeps the volumes that it was created with");
  const target = await connection(context);
  const sandbox = id
    ? await Sandbox.connect(await resolveSandbox(id, target), { ...target, timeoutMs: LEASE_MS })
    : await Sandbox.create(options.template ?? "base", { ...target, timeoutMs: LEASE_MS, volumes: options.volume });
  const lease = id ? keepAlive(sandbox.sandboxId, target) : renewLease(sandbox);
  let keepsSandbox = id !== undefined || options.keep === true;
  try {
    const session = options.attach ? await attachTo(sandbox, options.attach) : await open(sandbox, argv, options);
    const running = runSession(sandbox, session, context);
    // If this fails, the session fails too and reports the error.
    if (options.attach) redraw(sandbox, session).catch(() => {});
    const end = await running;
    if (end.detached) {
      keepsSandbox = true;
      context.output.note(`\ndetached; \`boxyard shell ${sandbox.sandboxId} --attach ${session.pid}\` reconnects`);
    } else context.exitCode = end.exitCode;
  } finally {
    lease.stop();
    if (!keepsSandbox) await sandbox.kill();
    else if (!id) await sandbox.setTimeout(KEPT_MS);
  }
}

function open(sandbox: Sandbox, argv: readonly string[], options: ShellOptions): Promise<CommandHandle> {
  const { env: envs, cwd, user } = options;
  const [program, ...args] = argv;
  const own = program === undefined ? {} : { argv: [program, ...args] as const };
  return sandbox.pty.create({ ...terminalSize(), ...own, envs, cwd, user, timeoutMs: 0, tag: SESSION_TAG });
}

async function attachTo(sandbox: Sandbox, wanted: true | string): Promise<CommandHandle> {
  const sessions = (await sandbox.commands.list()).filter(({ pid, tag }) =>
    wanted === true ? tag === SESSION_TAG : String(pid) === wanted,
  );
  const [only, ...others] = sessions;
  if (!only) throw usageError(wanted === true ? "no session to reconnect to in this sandbox" : `no session ${wanted} in this sandbox`);
  if (others.length > 0) throw usageError(`there are several sessions; name one:\n${sessions.map(describe).join("\n")}`);
  return sandbox.pty.connect(only.pid, { timeoutMs: 0 });
}

/**
 * Makes a full-screen program draw its whole screen again, as it does when its window changes: the window is one column narrower for a moment.
 * The program must notice the first change before the second one, which undoes it: its output shows that it has.
 */
async function redraw(sandbox: Sandbox, session: CommandHandle): Promise<void> {
  const { cols, rows } = terminalSize();
  const drawn = session[Symbol.asyncIterator]();
  await sandbox.pty.resize(session.pid, { cols: Math.max(1, cols - 1), rows });
  await Promise.race([drawn.next(), new Promise((resolve) => setTimeout(resolve, REDRAW_LIMIT_MS))]);
  await drawn.return?.();
  await sandbox.pty.resize(session.pid, { cols, rows });
}

function describe({ pid, cmd, args }: ProcessInfo): string {
  return `  --attach ${pid}   ${[cmd, ...args].join(" ")}`;
}

/** A sandbox that this command did not create keeps its own lifetime, but does not end during a session: connecting never shortens it. */
function keepAlive(id: string, target: Awaited<ReturnType<typeof connection>>): { stop(): void } {
  const renew = () => void Sandbox.connect(id, { ...target, timeoutMs: LEASE_MS }).catch(() => {});
  const timer = setInterval(renew, LEASE_MS / 3);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
