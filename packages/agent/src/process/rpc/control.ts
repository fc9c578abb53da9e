import { AppError } from "@boxyard/core";
import type { ListResponse, SendSignalRequest, UpdateRequest } from "@boxyard/spec/agent";
import type { Commands } from "../commands.ts";
import { selectorOf } from "./selector.ts";

export function list(commands: Commands): ListResponse {
  return { processes: commands.list().map(({ config, pid, tag }) => ({ config, pid, tag })) };
}

/** SIGKILL ends everything the process started, SIGTERM goes to the process alone. Others are `unimplemented`. */
export function sendSignal(commands: Commands, request: SendSignalRequest): Record<never, never> {
  const command = commands.find(selectorOf(request.process));
  if (request.signal === "SIGNAL_SIGKILL") command.kill();
  else if (request.signal === "SIGNAL_SIGTERM") command.terminate();
  else
    throw new AppError("unimplemented", `signal ${request.signal} is not supported; send SIGTERM or SIGKILL`, { reason: "unknown_signal" });
  return {};
}

/** Resizes a terminal; without a size there is nothing to do. */
export function update(commands: Commands, request: UpdateRequest): Record<never, never> {
  const command = commands.find(selectorOf(request.process));
  if (request.pty) command.resize(request.pty.size);
  return {};
}
