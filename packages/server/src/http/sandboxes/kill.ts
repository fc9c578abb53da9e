import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import { noContent } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

/** Answers once nothing of the sandbox is left. */
export const killSandbox: HandlerOf<typeof routes.killSandbox> = async ({ caller, param }, { sandboxes }) => {
  await sandboxes.kill(caller.teamId, parseSandboxId(param("sandboxID")));
  return noContent();
};
