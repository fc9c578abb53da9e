import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import { json } from "../responses.ts";
import { presentVolumes } from "./present.ts";
import type { HandlerOf } from "./services.ts";

/** Answers once the sandbox runs again in the state of the snapshot, with the volumes that it has, which are as they were. */
export const rollbackSandbox: HandlerOf<typeof routes.rollbackSandbox> = async ({ body, caller, param }, { rollbacks }) => {
  const { facts } = await rollbacks.rollback(caller.teamId, parseSandboxId(param("sandboxID")), body.snapshotID);
  return json(200, presentVolumes(facts.volumes));
};
