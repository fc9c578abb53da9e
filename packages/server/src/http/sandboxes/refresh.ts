import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import { noContent } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

const LEAST_SECONDS = 15;

/** Only extends, and by 15 s at least. */
export const refreshSandbox: HandlerOf<typeof routes.refreshSandbox> = async ({ body, caller, param }, { sandboxes }) => {
  await sandboxes.extend(caller.teamId, parseSandboxId(param("sandboxID")), Math.max(LEAST_SECONDS, body.duration));
  return noContent();
};
