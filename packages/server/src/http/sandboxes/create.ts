import type { NewSandbox } from "@boxyard/spec/platform";
import { json } from "../responses.ts";
import { presentSandbox } from "./present.ts";
import type { Handler } from "./services.ts";

/** `POST /sandboxes` and `POST /v2/sandboxes`, which differ in their schema only (docs/contract/platform.md). */
export function createSandbox(version: "v1" | "v2"): Handler<NewSandbox> {
  return async ({ body, caller, header, signal }, context) => {
    const options = { version, idempotencyKey: header("idempotency-key"), signal };
    return json(201, presentSandbox(await context.sandboxes.create(caller.teamId, body, options), context));
  };
}
