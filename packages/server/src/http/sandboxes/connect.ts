import { parseSandboxId } from "@boxyard/core";
import type { Handler } from "../route.ts";
import { json, presentSandbox } from "./present.ts";

/** Both versions of connect. A running sandbox's lifetime is never shortened by it. */
export const connect: Handler<{ timeout: number }> = async ({ body, caller, param }, context) => {
  const record = await context.sandboxes.connect(caller.teamId, parseSandboxId(param("sandboxID")), body.timeout);
  return json(200, presentSandbox(record, context));
};
