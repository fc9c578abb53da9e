import { parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import { statusOf } from "../errors.ts";
import { json } from "../responses.ts";
import { presentSandbox } from "./present.ts";
import type { HandlerOf } from "./services.ts";

/** One entry for each copy: a sandbox, or an error with the status of a create that fails in this way. */
export const forkSandbox: HandlerOf<typeof routes.forkSandbox> = async ({ body, caller, param, header, signal }, context) => {
  const wish = { seconds: body.timeout, count: body.count, idempotencyKey: header("idempotency-key"), signal };
  const copies = await context.forks.fork(caller.teamId, parseSandboxId(param("sandboxID")), wish);
  return json(
    201,
    copies.map((copy) =>
      "record" in copy
        ? { sandbox: presentSandbox(copy.record, context) }
        : { error: { code: statusOf(copy.error), message: copy.error.message } },
    ),
  );
};
