import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import { noContent } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

/** Replaces all egress rules of the sandbox: rules that the body omits are removed. Ingress rules stay. */
export const updateNetwork: HandlerOf<typeof routes.updateNetwork> = async ({ body, caller, param }, { sandboxes }) => {
  const { allow_internet_access, ...network } = body;
  await sandboxes.setEgress(caller.teamId, parseSandboxId(param("sandboxID")), { allow_internet_access, network });
  return noContent();
};
