import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import { parseEgress } from "../../sandboxes/create/create-request.ts";
import { noContent } from "./present.ts";
import type { HandlerOf } from "./services.ts";

/** Replaces every rule of what may leave the sandbox: what the body leaves out is as if never set. What may come in is not touched. */
export const updateNetwork: HandlerOf<typeof routes.updateNetwork> = async ({ body, caller, param }, { sandboxes }) => {
  const { allow_internet_access, ...network } = body;
  await sandboxes.setEgress(caller.teamId, parseSandboxId(param("sandboxID")), parseEgress({ allow_internet_access, network }));
  return noContent();
};
