import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import { noContent } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

/** Answers once the sandbox runs again in the state of the snapshot. */
export const rollbackSandbox: HandlerOf<typeof routes.rollbackSandbox> = async ({ body, caller, param }, { rollbacks }) => {
  await rollbacks.rollback(caller.teamId, parseSandboxId(param("sandboxID")), body.snapshotID);
  return noContent();
};
