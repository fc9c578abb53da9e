import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import { noContent } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

/** Never shortens the lifetime. */
export const refreshSandbox: HandlerOf<typeof routes.refreshSandbox> = async ({ body, caller, param }, { sandboxes }) => {
  await sandboxes.refresh(caller.teamId, parseSandboxId(param("sandboxID")), body.duration);
  return noContent();
};
