import type { CommandHandle } from "@boxyard/sdk";
import { z } from "zod";
import { RunningCommand } from "../session/running-command.ts";
import { outputPart, outputText, RESULT_BYTES } from "./output-text.ts";
import { waitWithProgress } from "./progress.ts";
import { sandbox, type ToolCall, tool } from "./tool.ts";

/** Below the minute for which clients wait for an answer. */
const DEFAULT_WAIT_S = 50;
const wait_s = z.number().min(0).max(3600).default(DEFAULT_WAIT_S);
const pid = z.int().min(1);

/** Starts a command, and waits for it; a command whose call is cancelled is killed. */
export async function runCommand(
  call: ToolCall,
  { id, waitMs }: { readonly id: string | undefined; readonly waitMs: number },
  start: (commands: {
    readonly sandboxId: string;
    readonly member: Awaited<ReturnType<ToolCall["session"]["member"]>>;
  }) => Promise<CommandHandle>,
): Promise<RunningCommand> {
  const { session, signal } = call;
  const member = await session.member(id);
  session.commands.makeRoom();
  const { sandboxId } = member.sandbox;
  const handle = await start({ sandboxId, member }).catch((error: unknown) => {
    session.forgetEnded(sandboxId, error);
    throw error;
  });
  const command = new RunningCommand(sandboxId, handle);
  session.commands.add(command);
  try {
    await waitWithProgress(command, waitMs, call);
  } catch (error) {
    if (signal.aborted) await member.sandbox.commands.kill(command.pid);
    session.forgetEnded(sandboxId, error);
    throw error;
  }
  return command;
}

const run = tool({
  name: "run",
  description: `Run a bash command. Waits wait_s (0: background); then it goes on and \`wait\` follows it by pid. Shows up to ${RESULT_BYTES / 1000} kB of output.`,
  input: {
    sandbox,
    command: z.string().min(1),
    cwd: z.string().optional(),
    user: z.string().optional().describe("e.g. root"),
    env: z.record(z.string(), z.string()).optional(),
    stdin: z.boolean().optional().describe("for `input`"),
    wait_s,
  },
  async run({ sandbox: id, command: text, cwd, user, env: envs, stdin, wait_s }, call) {
    const command = await runCommand(call, { id, waitMs: wait_s * 1000 }, ({ member }) =>
      member.sandbox.commands.run(text, { background: true, cwd, user, envs, stdin, timeoutMs: 0, retainOutput: false }),
    );
    return outputText(command);
  },
});

const wait = tool({
  name: "wait",
  description: "New output and exit code of a command, when it ends or after wait_s. With from: output again, from that byte.",
  input: { sandbox, pid, wait_s, from: z.int().min(0).optional() },
  async run({ sandbox: id, pid, wait_s, from }, call) {
    const member = await call.session.member(id);
    const command = await call.session.commands.find(member.sandbox, pid);
    if (from !== undefined) return outputPart(command, from);
    await waitWithProgress(command, wait_s * 1000, call);
    return outputText(command);
  },
});

const input = tool({
  name: "input",
  description: "Write to the standard input of a command that was run with stdin, then show its output for wait_s.",
  input: { sandbox, pid, text: z.string(), close: z.boolean().optional(), wait_s: wait_s.default(1) },
  async run({ sandbox: id, pid, text, close, wait_s }, call) {
    const { sandbox } = await call.session.member(id);
    const command = await call.session.commands.find(sandbox, pid);
    if (text !== "") await sandbox.commands.sendStdin(pid, text);
    if (close) await sandbox.commands.closeStdin(pid);
    await waitWithProgress(command, wait_s * 1000, call);
    return outputText(command);
  },
});

const processes = tool({
  name: "processes",
  description: "List running commands with their pids.",
  input: { sandbox },
  readOnly: true,
  async run({ sandbox: id }, { session }) {
    const { sandbox } = await session.member(id);
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

const kill = tool({
  name: "kill",
  description: "Kill a command.",
  input: { sandbox, pid },
  async run({ sandbox: id, pid }, { session }) {
    const { sandbox } = await session.member(id);
    return (await sandbox.commands.kill(pid)) ? `Killed ${pid}.` : `No command ${pid} runs. \`processes\` lists what runs.`;
  },
});

export const commandTools = [run, wait, input, processes, kill];
