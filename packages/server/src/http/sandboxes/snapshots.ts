import { AppError, parseSandboxId } from "@boxyard/core";
import type { Handler } from "../route.ts";

const notYet = (what: string) => new AppError("unimplemented", `This server cannot ${what} yet`, { reason: "not_yet" });

/** For an operation on a running sandbox that no driver can do yet: says so, after everything else that is wrong. */
export function notYetOf(what: string): Handler<unknown> {
  return ({ caller, param }, { lifecycle }) => {
    lifecycle.get(caller.teamId, parseSandboxId(param("sandboxID")));
    throw notYet(what);
  };
}

export const listSnapshots: Handler<undefined, unknown> = () => {
  throw notYet("keep snapshots");
};
