import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import { json } from "../responses.ts";
import { presentDetail } from "./present.ts";
import type { HandlerOf } from "./services.ts";

export const resizeSandbox: HandlerOf<typeof routes.resizeSandbox> = async ({ body, caller, param }, context) =>
  json(200, presentDetail(await context.resizing.resize(caller.teamId, parseSandboxId(param("sandboxID")), body), true, context));
