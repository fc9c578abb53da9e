import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import { noContent } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

/** Sets the end to now + timeout, which may shorten the lifetime. A negative timeout counts as 0. */
export const setTimeout: HandlerOf<typeof routes.setTimeout> = async ({ body, caller, param }, { sandboxes }) => {
  sandboxes.checkTimeout(caller.teamId, body.timeout);
  await sandboxes.setTimeout(caller.teamId, parseSandboxId(param("sandboxID")), body.timeout);
  return noContent();
};
