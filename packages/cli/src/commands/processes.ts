import { AbortError, type CommandHandle, type Sandbox } from "@boxyard/sdk";
import { shellWord } from "@boxyard/sdk/shell-word";
import type { Command } from "commander";
import { connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT } from "../errors.ts";
import { parseCount } from "../options.ts";
import { table } from "../output/table.ts";
import { follow, signalGroup } from "../remote-command.ts";
import { attachSandbox } from "../sandbox-ref.ts";
import { SESSION_TAG } from "../terminal/run-in-terminal.ts";
import { runSession } from "../terminal/session.ts";

interface AttachOptions {
  readonly stdin?: boolean;
  readonly tty?: boolean;
}

const QUIET_MS = 300;

/** Commands about the processes of one sandbox: each configures one of the program's commands. */

const SANDBOX = ["<sandbox>", "id, name, or beginning of the id of a sandbox"] as const;
const PID = ["<pid>", "process id, as `boxyard ps SANDBOX` shows it", parseCount] as const;

export const ps = {
  configure(command: Command, context: CliContext): void {
    command
      .description(
        "List the commands and terminals that run in a sandbox, its template's start command too. Without a sandbox: list sandboxes.",
      )
      .argument("[sandbox]", SANDBOX[1])
      .option("-q, --quiet", "only process ids")
      .option("--json", "print them as JSON")
      .addHelpText("after", "\nExamples:\n  $ boxyard ps SANDBOX\n  $ boxyard kill SANDBOX $(boxyard ps -q SANDBOX)")
      .action(async (id: string | undefined, options: { quiet?: boolean; json?: boolean }) => {
        if (id !== undefined) return list(await attachSandbox(id, context, connectionToRead), options, context);
        const { list: listSandboxes } = await import("./sandbox-actions.ts");
        return listSandboxes(options, context);
      });
  },
};

export const attach = {
  configure(command: Command, context: CliContext): void {
    context.failureExitCode = EXIT.ownFailure;
    command
      .description("Connect to a command or terminal that runs in a sandbox. Output that no client has received yet comes first.")
      .argument(...SANDBOX)
      .argument(...PID)
      .option("-i, --stdin", "pass on standard input, to a command that was started with it")
      .option("-t, --tty", "treat it as a terminal; terminals of `boxyard shell` and `exec -it` are recognised")
      .addHelpText("after", "\nCtrl-C leaves a command running; in a terminal, Ctrl-] d does.\n\nExamples:\n  $ boxyard attach SANDBOX PID")
      .action(async (id: string, pid: number, options: AttachOptions) => attachTo(await attachSandbox(id, context), pid, options, context));
  },
};

export const kill = {
  configure(command: Command, context: CliContext): void {
    command
      .description("End commands or terminals in a sandbox, with all their children. `boxyard rm SANDBOX` ends the sandbox itself.")
      .argument(...SANDBOX)
      .argument("<pid...>", PID[1])
      .option("-s, --signal <name>", "send this signal instead of KILL: TERM, INT, HUP, …")
      .addHelpText("after", "\nExamples:\n  $ boxyard kill SANDBOX PID\n  $ boxyard kill -s INT SANDBOX PID")
      .action(async (id: string, pids: string[], options: { signal?: string }) =>
        end(await attachSandbox(id, context), pids.map(parseCount), options.signal, context),
      );
  },
};

async function list(sandbox: Sandbox, options: { quiet?: boolean; json?: boolean }, { output }: CliContext): Promise<void> {
  const processes = await sandbox.commands.list();
  if (options.json) return output.json(processes);
  if (options.quiet) return processes.length > 0 ? output.line(processes.map(({ pid }) => pid).join("\n")) : undefined;
  if (processes.length === 0) return output.note("no commands");
  const rows = processes.map(({ pid, tag, cwd, cmd, args }) => [String(pid), tag || "-", cwd ?? "-", shown([cmd, ...args])]);
  await output.line(table([["PID", "TAG", "DIRECTORY", "COMMAND"], ...rows]));
}

const shown = (argv: readonly string[]) => argv.map(shellWord).join(" ");

async function attachTo(sandbox: Sandbox, pid: number, options: AttachOptions, context: CliContext): Promise<void> {
  if (process.stdin.isTTY && (options.tty || (await isOurSession(sandbox, pid)))) {
    const end = await runSession(sandbox, await sandbox.pty.connect(pid, { timeoutMs: 0 }), context);
    if (!end.detached) context.exitCode = end.exitCode;
    return;
  }
  const handle = await sandbox.commands.connect(pid, { timeoutMs: 0, retainOutput: false, signal: context.signal });
  context.exitCode = await follow(handle, options.stdin === true, context);
}

async function isOurSession(sandbox: Sandbox, pid: number): Promise<boolean> {
  return (await sandbox.commands.list()).some((process) => process.pid === pid && process.tag === SESSION_TAG);
}

async function end(sandbox: Sandbox, pids: readonly number[], signal: string | undefined, context: CliContext): Promise<void> {
  const running = new Set((await sandbox.commands.list()).map(({ pid }) => pid));
  for (const pid of pids) {
    const found = running.has(pid);
    if (found && signal !== undefined) await signalGroup(sandbox, pid, signal);
    else if (found) await sandbox.commands.kill(pid);
    else {
      context.output.note(`no command ${pid} runs in sandbox ${sandbox.sandboxId}`);
      context.exitCode = EXIT.failure;
    }
    if (found) await context.output.line(String(pid));
  }
}

/** Prints the output of a command from as far back as the sandbox has it; with `follows` also new output, until the command's end. */
export async function processLogs(sandbox: Sandbox, pid: number, follows: boolean, context: CliContext): Promise<void> {
  const running = (await sandbox.commands.list()).some((process) => process.pid === pid);
  const handle = await sandbox.commands.connect(pid, { timeoutMs: 0, fromOffset: 0, retainOutput: false, signal: context.signal });
  const { outputOffset: start } = handle;
  if (start > 0) context.output.note(`(the first ${start} bytes are no longer kept)`);
  // The command's exit code does not count: showing its output has succeeded.
  if (follows || !running) await follow(handle, false, context);
  else await untilQuiet(handle, context);
}

/** Prints until nothing has come for QUIET_MS: kept output comes at once, and no message marks where new output begins. */
async function untilQuiet(handle: CommandHandle, { output }: CliContext): Promise<void> {
  const disconnect = () => void handle.disconnect();
  let timer = setTimeout(disconnect, QUIET_MS);
  try {
    for await (const { stream, data } of handle) {
      clearTimeout(timer);
      await (stream === "stderr" ? output.writeError(data) : output.write(data));
      timer = setTimeout(disconnect, QUIET_MS);
    }
  } catch (error) {
    if (!(error instanceof AbortError)) throw error;
  } finally {
    clearTimeout(timer);
  }
}
