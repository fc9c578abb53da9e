import { type CommandHandle, NotFoundError, type Sandbox } from "@boxyard/sdk";
import { z } from "zod";
import { RunningCommand } from "../session/running-command.ts";
import type { Member } from "../session/session.ts";
import { outputPart, outputText, RESULT_BYTES } from "./output-text.ts";
import { waitWithProgress } from "./progress.ts";
import { sandboxTool, type ToolCall } from "./tool.ts";

/** Below the minute for which clients wait for an answer. */
const DEFAULT_WAIT_S = 50;
const wait_s = z.number().min(0).max(3600).default(DEFAULT_WAIT_S);
const pid = z.int().min(1);

/** Starts a command, and waits for it; a command whose call is cancelled is killed. */
export async function runCommand(
  start: () => Promise<CommandHandle>,
  waitMs: number,
  { sandbox }: Member,
  call: ToolCall,
): Promise<RunningCommand> {
  const { commands } = call.session;
  commands.makeRoom();
  const command = new RunningCommand(sandbox.sandboxId, await start());
  commands.add(command);
  try {
    await waitWithProgress(command, waitMs, call);
  } catch (error) {
    if (call.signal.aborted) await sandbox.commands.kill(command.pid);
    throw error;
  }
  return command;
}

const run = sandboxTool({
  name: "run",
  description: `Run a bash command. Waits wait_s (0: background); then it goes on and \`wait\` follows it by pid. Shows up to ${RESULT_BYTES / 1000} kB of output.`,
  input: {
    command: z.string().min(1),
    cwd: z.string().optional(),
    user: z.string().optional().describe("e.g. root"),
    env: z.record(z.string(), z.string()).optional(),
    stdin: z.boolean().optional().describe("for `input`"),
    wait_s,
  },
  async run({ command, cwd, user, env: envs, stdin, wait_s }, member, call) {
    const options = { background: true, cwd, user, envs, stdin, timeoutMs: 0, retainOutput: false } as const;
    return outputText(await runCommand(() => member.sandbox.commands.run(command, options), wait_s * 1000, member, call));
  },
});

const wait = sandboxTool({
  name: "wait",
  description: "New output and exit code of a command, when it ends or after wait_s. With from: output again, from that byte.",
  input: { pid, wait_s, from: z.int().min(0).optional() },
  async run({ pid, wait_s, from }, { sandbox }, call) {
    const command = await call.session.commands.find(sandbox, pid);
    if (from !== undefined) return outputPart(command, from);
    await waitWithProgress(command, wait_s * 1000, call);
    return outputText(command);
  },
});

const input = sandboxTool({
  name: "input",
  description: "Write to the standard input of a command that was run with stdin, then show its output for wait_s.",
  input: { pid, text: z.string(), close: z.boolean().optional(), wait_s: wait_s.default(1) },
  async run({ pid, text, close, wait_s }, { sandbox }, call) {
    const command = await call.session.commands.find(sandbox, pid);
    if (text !== "") await sandbox.commands.sendStdin(pid, text);
    if (close) await closeInput(sandbox, pid, text !== "");
    await waitWithProgress(command, wait_s * 1000, call);
    return outputText(command);
  },
});

/** Closes the input of a command. A command that may have ended because of what was written just before needs no close. */
async function closeInput(sandbox: Sandbox, pid: number, hasWritten: boolean): Promise<void> {
  try {
    await sandbox.commands.closeStdin(pid);
  } catch (error) {
    if (!hasWritten || !(error instanceof NotFoundError && error.reason === "process_not_found")) throw error;
  }
}

const processes = sandboxTool({
  name: "processes",
  description: "List running commands with their pids.",
  input: {},
  readOnly: true,
  async run(_args, { sandbox }) {
    const found = await sandbox.commands.list();
    if (found.length === 0) return "Nothing runs.";
    const lines = found.map(({ pid, cmd, args, tag }) => `${pid}\t${lineOf(cmd, args)}${tag === undefined ? "" : `\t(${tag})`}`);
    const shown = lines.slice(0, 100);
    return [...shown, ...(lines.length > shown.length ? [`[${lines.length - shown.length} more: run \`ps -ef\`]`] : [])].join("\n");
  },
});

/** What a person typed: `bash -l -c` is how a command runs. */
function lineOf(cmd: string, args: readonly string[]): string {
  const words = cmd.endsWith("/bash") && args[0] === "-l" && args[1] === "-c" ? args.slice(2) : [cmd, ...args];
  return words.join(" ").slice(0, 150);
}

const kill = sandboxTool({
  name: "kill",
  description: "Kill a command.",
  input: { pid },
  async run({ pid }, { sandbox }) {
    return (await sandbox.commands.kill(pid)) ? `Killed ${pid}.` : `No command ${pid} runs. \`processes\` lists what runs.`;
  },
});

export const commandTools = [run, wait, input, processes, kill];
