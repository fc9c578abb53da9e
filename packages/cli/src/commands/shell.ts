import { type CommandHandle, type ProcessInfo, Sandbox } from "@boxyard/sdk";
import type { Command } from "commander";
import { connection } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT, usageError } from "../errors.ts";
import { LEASE_MS, renewLease } from "../lease.ts";
import { collectEnv } from "../options.ts";
import { resolveSandbox } from "../sandbox-ref.ts";
import { SESSION_TAG } from "../terminal/run-in-terminal.ts";
import { runSession, terminalSize } from "../terminal/session.ts";

interface ShellOptions {
  readonly template?: string;
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  readonly user?: string;
  readonly attach?: boolean | string;
  readonly keep?: boolean;
}

/** Lifetime of a sandbox that is left behind on purpose. */
const LEFT_MS = 3_600_000;
/** A program that draws nothing when its window changes is not waited for longer. */
const REDRAW_LIMIT_MS = 2000;

const EXAMPLES = `
Ctrl-] d detaches: the session runs on, and --attach comes back to it. Ctrl-] Ctrl-] sends one Ctrl-].
The exit code of the session is ours.

Examples:
  $ boxyard shell                        a new sandbox, removed when the shell ends
  $ boxyard shell -t code-interpreter    the same from another template
  $ boxyard shell SANDBOX                a new session in a running sandbox
  $ boxyard shell SANDBOX -- top         another program than bash
  $ boxyard shell SANDBOX --attach       back to the session that was left`;

export function configure(command: Command, context: CliContext): void {
  context.failureExitCode = EXIT.ownFailure;
  command
    .description("Open a terminal in a sandbox: a new one, or with an id a running one.")
    .argument("[sandbox]", "id, name, or beginning of the id of a sandbox")
    .argument("[command...]", "the program and its arguments (default: bash)")
    .option("-t, --template <template>", "template of a new sandbox (default: base)")
    .option("-e, --env <KEY=VALUE>", "environment variable, repeatable; KEY alone passes on your own", collectEnv(context.config.env))
    .option("--cwd <path>", "working directory (default: the user's home)")
    .option("--user <name>", "user in the sandbox (default: the template's)")
    .option("--attach [pid]", "come back to a session, by its process id if there are several")
    .option("--keep", "keep a new sandbox for an hour when the shell ends")
    .addHelpText("after", EXAMPLES)
    .action((id: string | undefined, argv: string[], options: ShellOptions) => shell(id, argv, options, context));
}

async function shell(id: string | undefined, argv: readonly string[], options: ShellOptions, context: CliContext): Promise<void> {
  if (!process.stdin.isTTY) {
    throw usageError("a shell needs a terminal; commands from a pipe go to `boxyard run -i -- bash`, or `boxyard exec -i SANDBOX -- bash`");
  }
  if (!id && options.attach) throw usageError("--attach needs the id of a sandbox; `boxyard sandbox list` shows them");
  const target = await connection(context);
  const sandbox = id
    ? await Sandbox.connect(await resolveSandbox(id, target), { ...target, timeoutMs: LEASE_MS })
    : await Sandbox.create(options.template ?? "base", { ...target, timeoutMs: LEASE_MS });
  const lease = id ? keepAlive(sandbox.sandboxId, target) : renewLease(sandbox);
  let leaveBehind = id !== undefined || options.keep === true;
  try {
    const session = options.attach ? await attachTo(sandbox, options.attach) : await open(sandbox, argv, options);
    const running = runSession(sandbox, session, context);
    // If this fails, so does the session, which says it.
    if (options.attach) redraw(sandbox, session).catch(() => {});
    const end = await running;
    if (end.detached) {
      leaveBehind = true;
      context.output.note(`\ndetached; \`boxyard shell ${sandbox.sandboxId} --attach ${session.pid}\` comes back`);
    } else context.exitCode = end.exitCode;
  } finally {
    lease.stop();
    if (!leaveBehind) await sandbox.kill();
    else if (!id) await sandbox.setTimeout(LEFT_MS);
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
  if (!only) throw usageError(wanted === true ? "no session to come back to in this sandbox" : `no session ${wanted} in this sandbox`);
  if (others.length > 0) throw usageError(`there are several sessions; name one:\n${sessions.map(describe).join("\n")}`);
  return sandbox.pty.connect(only.pid, { timeoutMs: 0 });
}

/**
 * A full-screen program draws everything anew when its window changes; one column less for a moment is such a change. It must have seen the
 * one before the other comes, or it sees none: what it draws for the first says so.
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
