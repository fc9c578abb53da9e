import { AppError } from "@boxyard/core";
import type { CloseStdinRequest, ProcessInput, SendInputRequest, StreamInputRequest } from "@boxyard/spec/agent";
import type { Command } from "../command.ts";
import type { Commands } from "../commands.ts";
import { selectorOf } from "./selector.ts";

/** Resolves when the pipe or terminal has taken the bytes, so that a client which waits for the answer is slowed down. */
export async function sendInput(commands: Commands, request: SendInputRequest): Promise<Record<never, never>> {
  await give(commands.find(selectorOf(request.process)), request.input);
  return {};
}

/** Repeatable; no error for a process without input. */
export function closeStdin(commands: Commands, request: CloseStdinRequest): Record<never, never> {
  commands.find(selectorOf(request.process)).closeInput();
  return {};
}

/** The first message names the process, the others bring input in order, each delivered on arrival. The stream's end closes nothing. */
export async function streamInput(commands: Commands, requests: AsyncIterable<StreamInputRequest>): Promise<Record<never, never>> {
  let command: Command | undefined;
  for await (const { start, data } of requests) {
    if (start) command = commands.find(selectorOf(start.process));
    else if (data) await give(started(command), data.input);
  }
  started(command);
  return {};
}

function started(command: Command | undefined): Command {
  if (!command) throw new AppError("invalid_argument", "the first message must be 'start' with the process", { reason: "no_start" });
  return command;
}

async function give(command: Command, input: ProcessInput | undefined): Promise<void> {
  if (input?.stdin) await command.sendInput("stdin", input.stdin);
  else if (input?.pty) await command.sendInput("pty", input.pty);
  else throw new AppError("invalid_argument", "input must hold 'stdin' or 'pty'", { reason: "no_input" });
}
