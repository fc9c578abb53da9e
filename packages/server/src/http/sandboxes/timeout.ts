import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import { checkTimeout } from "../../sandboxes/create-request.ts";
import type { HandlerOf } from "../route.ts";
import { noContent } from "./present.ts";

/** The end becomes now + timeout exactly; it may come closer. Negative counts as 0. */
export const setTimeout: HandlerOf<typeof routes.setTimeout> = async ({ body, caller, param }, { lifecycle, config }) => {
  checkTimeout(body.timeout, config.maxTimeoutHours);
  await lifecycle.setTimeout(caller.teamId, parseSandboxId(param("sandboxID")), body.timeout * 1000);
  return noContent();
};
