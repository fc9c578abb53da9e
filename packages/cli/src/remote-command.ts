import { AppError } from "@boxyard/core";
import { type CommandHandle, type Sandbox, TimeoutError } from "@boxyard/sdk";
import type { CliContext } from "./context.ts";
import { usageError } from "./errors.ts";
import type { InterruptSignal } from "./interrupt.ts";
import { shellExitCode } from "./signals.ts";

export interface RemoteCommandOptions {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  readonly user?: string;
  /** Seconds; undefined means no limit. */
  readonly timeout?: number;
  /** Whether our standard input goes to the command. */
  readonly stdin?: boolean;
}

/** What a single message to a command's input may hold. */
const INPUT_CHUNK_BYTES = 64 * 1024;

/**
 * Runs a program in a sandbox, exactly these arguments and no shell between, with its output going to ours byte by byte as it comes.
 * Resolves with the exit code a shell would show. Ctrl-C and SIGTERM go to the command; the second one kills it.
 */
export async function runRemote(
  sandbox: Sandbox,
  argv: readonly string[],
  options: RemoteCommandOptions,
  context: CliContext,
): Promise<number> {
  const [program, ...args] = argv;
  const command = await sandbox.commands.spawn([program as string, ...args], {
    envs: options.env,
    cwd: options.cwd,
    user: options.user,
    stdin: options.stdin ?? false,
    timeoutMs: options.timeout ? Math.ceil(options.timeout * 1000) : 0,
    retainOutput: false,
    signal: context.signal,
  });
  const release = context.interrupt.takeOver(forwardSignals(sandbox, command));
  try {
    return await follow(command, options.stdin === true, context);
  } catch (error) {
    if (!(error instanceof TimeoutError) || error.reason !== "command_timeout") throw error;
    throw new AppError("deadline_exceeded", `the command was ended after ${options.timeout} s (--timeout)`, {
      reason: error.reason,
      cause: error,
    });
  } finally {
    release();
  }
}

/** Shows the output of a command until its end, and gives it our input if wanted. Resolves with the exit code a shell would show. */
export async function follow(command: CommandHandle, takesInput: boolean, { output }: CliContext): Promise<number> {
  // When the reader of our output has left, the command has no reader either.
  output.whenBroken(() => void command.kill().catch(() => {}));
  const input = takesInput ? forwardStdin(command) : undefined;
  try {
    for await (const { stream, data } of command) {
      await (stream === "stderr" ? output.writeError(data) : output.write(data));
    }
    const end = await command.waitForEnd();
    // The agent knows what an exit code can't say, such as that the memory was used up.
    const why = /\(([^)]{10,})\)$/.exec(end.error ?? "")?.[1];
    if (!end.exited && why && why !== "core dumped") output.note(why);
    return shellExitCode(end);
  } finally {
    input?.stop();
  }
}

/** Passes the first signal on to the command with all its children, as a terminal does; the second one kills it. */
function forwardSignals(sandbox: Sandbox, command: CommandHandle): (name: InterruptSignal) => void {
  let count = 0;
  return (name) => {
    const kill = () => void command.kill().catch(() => {});
    if (count++ > 0) return kill();
    // Where the signal cannot be sent, as in an image without `kill`, the agent sends SIGTERM to the command.
    signalGroup(sandbox, command.pid, name).catch(() => sandbox.commands.terminate(command.pid).catch(kill));
  };
}

/** Sends a signal to a command and its children: a command leads a process group of its own. Fails when `kill` in the sandbox does. */
export async function signalGroup(sandbox: Sandbox, pid: number, name: string): Promise<void> {
  if (!/^(SIG)?[A-Z0-9+-]{1,12}$/i.test(name)) throw usageError(`'${name}' is not a signal; give TERM, INT, HUP, …`);
  // This form is understood by procps, util-linux and busybox; procps takes no group after `-s NAME`.
  const argv = ["kill", `-${name.toUpperCase().replace(/^SIG/, "")}`, "--", `-${pid}`] as const;
  const sent = await sandbox.commands.spawn(argv, { user: "root", timeoutMs: 10_000 });
  await sent.wait();
}

/** Copies our standard input to the command, in order, and then its end. */
function forwardStdin(command: CommandHandle): { stop(): void } {
  let stopped = false;
  const copy = async () => {
    for await (const chunk of process.stdin as AsyncIterable<Uint8Array>) {
      for (let at = 0; at < chunk.length && !stopped; at += INPUT_CHUNK_BYTES) {
        await command.sendStdin(chunk.subarray(at, at + INPUT_CHUNK_BYTES));
      }
      if (stopped) return;
    }
    await command.closeStdin();
  };
  // A command that ends without reading its input is no error of ours: its output and exit code show its result.
  copy().catch(() => {});
  return {
    stop: () => {
      stopped = true;
      process.stdin.destroy();
    },
  };
}
