import { parseSandboxId } from "@boxyard/core";
import { includes, type routes } from "@boxyard/spec/platform";
import { json } from "../responses.ts";
import { presentDetail } from "./present.ts";
import type { HandlerOf } from "./services.ts";

export const getSandbox: HandlerOf<typeof routes.getSandbox> = ({ caller, param }, context) =>
  json(
    200,
    presentDetail(context.sandboxes.get(caller.teamId, parseSandboxId(param("sandboxID"))), includes(caller.scopes, "sandboxes"), context),
  );
