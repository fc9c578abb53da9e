import type { SandboxLogEntry } from "@boxyard/sdk";
import { NotFoundError } from "@boxyard/sdk/errors";
import { Sandboxes } from "@boxyard/sdk/sandboxes";
import { connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { attachSandbox } from "../sandbox-ref.ts";

export interface LogsOptions {
  readonly follow?: boolean;
  readonly level?: (typeof LEVELS)[number];
  readonly search?: string;
  readonly json?: boolean;
}

export const LEVELS = ["debug", "info", "warn", "error"] as const;
const POLL_MS = 500;
const PAGE = 1000;

/** Prints what happened to a sandbox; with `--follow` also what happens, until its end. */
export async function logs(id: string, options: LogsOptions, context: CliContext): Promise<void> {
  const target = await connectionToRead(context);
  const filter = { level: options.level, search: options.search, limit: PAGE };
  let since: Date | undefined;
  for (;;) {
    // Asked before the lines are: what the end adds is in them.
    const running = options.follow === true && (await isThere(id, target));
    const lines = await Sandboxes.getLogs(id, { ...target, ...filter, since });
    for (const line of lines) await print(line, options, context);
    const last = lines.at(-1);
    if (last) since = new Date(last.timestamp.getTime() + 1);
    if (lines.length === PAGE) continue;
    if (!running || context.signal.aborted) return;
    await Bun.sleep(POLL_MS);
  }
}

/** Prints the agent's own lines, of a sandbox that runs. */
export async function agentLogs(id: string, { json }: Pick<LogsOptions, "json">, context: CliContext): Promise<void> {
  const sandbox = await attachSandbox(id, context, connectionToRead);
  for (const line of await sandbox.getAgentLog()) await context.output.line(json ? JSON.stringify(line) : line);
}

/** Without what a terminal would take as an order. */
const printable = (text: string) => text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) => (character === "\t" ? character : " "));

async function isThere(id: string, target: Awaited<ReturnType<typeof connectionToRead>>): Promise<boolean> {
  try {
    await Sandboxes.getInfo(id, target);
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
}

async function print(line: SandboxLogEntry, options: LogsOptions, { output }: CliContext): Promise<void> {
  if (options.json) return output.line(JSON.stringify(line));
  const level = line.level.toUpperCase().padEnd(5);
  // Programs inside may have said it, and anything with it.
  const author = line.fields.logger === "guest" ? "guest: " : "";
  const shown = line.level === "error" ? output.red(level) : level;
  await output.line(`${output.dim(line.timestamp.toISOString())} ${shown} ${author}${printable(line.message)}`);
}
