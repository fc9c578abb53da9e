import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import { json } from "../responses.ts";
import { presentSandbox } from "./present.ts";
import type { HandlerOf } from "./services.ts";

export const resumeSandbox: HandlerOf<typeof routes.resumeSandbox> = async ({ body, caller, param }, context) => {
  context.sandboxes.checkTimeout(caller.teamId, body.timeout);
  const wish = { seconds: body.timeout, memory: body.memory !== false };
  const record = await context.sandboxes.resume(caller.teamId, parseSandboxId(param("sandboxID")), wish);
  return json(201, presentSandbox(record, context));
};
