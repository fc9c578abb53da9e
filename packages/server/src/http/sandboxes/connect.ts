import { parseSandboxId } from "@boxyard/core";
import { checkTimeout } from "../../sandboxes/create-request.ts";
import type { Handler } from "../route.ts";
import { json, presentSandbox } from "./present.ts";

/** Both versions of connect. A running sandbox's lifetime is never shortened by it. */
export const connect: Handler<{ timeout: number }> = async ({ body, caller, param }, context) => {
  checkTimeout(body.timeout, context.config.maxTimeoutHours);
  const record = await context.lifecycle.setTimeout(caller.teamId, parseSandboxId(param("sandboxID")), body.timeout * 1000, true);
  return json(200, presentSandbox(record, context));
};
