import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import { noContent } from "./present.ts";
import type { HandlerOf } from "./services.ts";

/** Answered when a crash of the machine would not lose the sandbox any more. Pauses of a guest that does not answer are always refused. */
export const pauseSandbox: HandlerOf<typeof routes.pauseSandbox> = async ({ body, caller, param }, { sandboxes }) => {
  await sandboxes.pause(caller.teamId, parseSandboxId(param("sandboxID")), body.memory !== false);
  return noContent();
};
