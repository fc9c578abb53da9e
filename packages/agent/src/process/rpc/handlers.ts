import type { processService } from "@boxyard/spec/agent";
import type { AgentContext, RpcHandlers } from "../../contracts.ts";
import type { Commands } from "../commands.ts";
import type { StartDeps } from "../start-command.ts";
import { list, sendSignal, update } from "./control.ts";
import { closeStdin, sendInput, streamInput } from "./input.ts";
import { connectHandler, startHandler } from "./streams.ts";

/** Every method of `process.Process`. */
export function processHandlers(
  ctx: Pick<AgentContext, "state" | "users">,
  commands: Commands,
  deps: StartDeps,
): RpcHandlers<typeof processService> {
  return {
    Start: startHandler(ctx, commands, deps),
    Connect: connectHandler(commands),
    List: () => list(commands),
    SendInput: (input) => sendInput(commands, input),
    StreamInput: (inputs) => streamInput(commands, inputs),
    CloseStdin: (input) => closeStdin(commands, input),
    SendSignal: (input) => sendSignal(commands, input),
    Update: (input) => update(commands, input),
  };
}
