import type { Sandbox } from "@boxyard/sdk";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { runSession, type SessionEnd, terminalSize } from "./session.ts";

interface TerminalOptions {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  readonly user?: string;
}

/** The tag by which `attach` and `shell --attach` find a session. */
export const SESSION_TAG = "boxyard-shell";

/** Throws a usage error where standard input is not a terminal; `instead` says what to do then. */
export function needTerminal(instead: string): void {
  if (!process.stdin.isTTY) throw usageError(`this needs a terminal, and standard input is not one; ${instead}`);
}

/** Runs a program in a terminal in a sandbox, connected with our own. Without words, bash. */
export async function runInTerminal(
  sandbox: Sandbox,
  argv: readonly string[],
  { env, cwd, user }: TerminalOptions,
  context: CliContext,
): Promise<SessionEnd & { readonly pid: number }> {
  const [program, ...args] = argv;
  const own = program === undefined ? {} : { argv: [program, ...args] as const };
  const session = await sandbox.pty.create({ ...terminalSize(), ...own, envs: env, cwd, user, timeoutMs: 0, tag: SESSION_TAG });
  return { ...(await runSession(sandbox, session, context)), pid: session.pid };
}
