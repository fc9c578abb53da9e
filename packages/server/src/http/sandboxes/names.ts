import { parseSandboxId } from "@boxyard/core";
import { type routes, SandboxName } from "@boxyard/spec/platform";
import { parseAs } from "../body.ts";
import { json, noContent } from "../responses.ts";
import { presentDetail, presentSandbox } from "./present.ts";
import type { HandlerOf } from "./services.ts";

export const getOrCreateSandbox: HandlerOf<typeof routes.getOrCreateSandbox> = async ({ body, caller, param, signal }, context) => {
  const name = parseAs(SandboxName, param("sandboxName"), "name");
  const { record, outcome } = await context.named.getOrCreate(caller.teamId, name, body, signal);
  return json(outcome === "created" ? 201 : 200, { ...presentSandbox(record, context), outcome });
};

export const setUpSandbox: HandlerOf<typeof routes.setUpSandbox> = async ({ body, caller, param }, { named }) => {
  await named.setUp(caller.teamId, parseSandboxId(param("sandboxID")), body);
  return noContent();
};

export const updateSandbox: HandlerOf<typeof routes.updateSandbox> = async ({ body, caller, param }, context) => {
  const id = parseSandboxId(param("sandboxID"));
  const { name, idleTimeout } = body;
  if (idleTimeout !== undefined) await context.sandboxes.setIdleTimeout(caller.teamId, id, idleTimeout);
  if (name !== undefined) await context.named.rename(caller.teamId, id, name);
  return json(200, presentDetail(context.sandboxes.get(caller.teamId, id), true, context));
};
