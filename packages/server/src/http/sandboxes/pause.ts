import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import { noContent } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

/** Answers once a crash of the machine would no longer lose the sandbox. Refused while the guest does not answer. */
export const pauseSandbox: HandlerOf<typeof routes.pauseSandbox> = async ({ body, caller, param }, { sandboxes }) => {
  await sandboxes.pause(caller.teamId, parseSandboxId(param("sandboxID")), body.memory !== false);
  return noContent();
};
