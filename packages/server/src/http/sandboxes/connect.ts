import { parseSandboxId } from "@boxyard/core";
import { json } from "../responses.ts";
import { presentSandbox } from "./present.ts";
import type { Handler } from "./services.ts";

/** Both versions of connect: never shortens the lifetime of a running sandbox, and resumes a paused one. */
export const connect: Handler<{ timeout: number; memory?: boolean | undefined }> = async ({ body, caller, param }, context) => {
  context.sandboxes.checkTimeout(caller.teamId, body.timeout);
  const wish = { seconds: body.timeout, memory: body.memory !== false };
  const { record, isResumed } = await context.sandboxes.connect(caller.teamId, parseSandboxId(param("sandboxID")), wish);
  return json(isResumed ? 201 : 200, presentSandbox(record, context));
};
