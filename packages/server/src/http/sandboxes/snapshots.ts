import { AppError, parseSandboxId } from "@boxyard/core";
import { json } from "./present.ts";
import type { Handler } from "./services.ts";

const notYet = (what: string) => new AppError("unimplemented", `This server cannot ${what} yet`, { reason: "not_yet" });

/** For an operation on a running sandbox that no driver can do yet: says so, after everything else that is wrong. */
export function notYetOf(what: string): Handler<unknown> {
  return ({ caller, param }, { sandboxes }) => {
    sandboxes.get(caller.teamId, parseSandboxId(param("sandboxID")));
    throw notYet(what);
  };
}

/** There are none as long as none can be made: an empty page, as of any list. */
export const listSnapshots: Handler<undefined, unknown> = () => json(200, []);
