import { parseSandboxId } from "@boxyard/core";
import { json, presentSandbox } from "./present.ts";
import type { Handler } from "./services.ts";

/** Both versions of connect. A running sandbox's lifetime is never shortened by it; a paused one is resumed. */
export const connect: Handler<{ timeout: number; memory?: boolean | undefined }> = async ({ body, caller, param }, context) => {
  const wish = { seconds: body.timeout, memory: body.memory !== false };
  const { record, isResumed } = await context.sandboxes.connect(caller.teamId, parseSandboxId(param("sandboxID")), wish);
  return json(isResumed ? 201 : 200, presentSandbox(record, context));
};
