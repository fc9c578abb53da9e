import type { NewSandbox } from "@boxyard/spec/platform";
import { toCreateSandbox } from "../../sandboxes/create-request.ts";
import type { Handler } from "../route.ts";
import { json, presentSandbox } from "./present.ts";

/** `POST /sandboxes` and `POST /v2/sandboxes`, which differ by their schema only (docs/contract/platform.md). */
export function createSandbox(version: "v1" | "v2"): Handler<NewSandbox> {
  return async ({ body, caller, header, signal }, context) => {
    const { lifecycle, templates, idempotency, gate, config } = context;
    const wanted = toCreateSandbox(body, caller.teamId, templates.resolve(caller.teamId, body.templateID), config.maxTimeoutHours);
    const key = header("idempotency-key");
    // With a key the client may come back for the answer, so a lost connection is no reason to give up.
    const caring = key === undefined ? signal : new AbortController().signal;
    const record = await idempotency.run(caller.teamId, key, { version, body }, (id) =>
      gate.run(caring, async () => {
        const made = await lifecycle.create(id, wanted, caring);
        templates.countSpawn(made.templateId);
        return made;
      }),
    );
    return json(201, presentSandbox(record, context));
  };
}
