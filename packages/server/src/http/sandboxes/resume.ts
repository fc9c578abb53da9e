import { AppError, parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import type { HandlerOf } from "../route.ts";

/** Sandboxes cannot be paused yet, so one that exists is running: the contract's 409. */
export const resumeSandbox: HandlerOf<typeof routes.resumeSandbox> = ({ caller, param }, { sandboxes }) => {
  const { id } = sandboxes.get(caller.teamId, parseSandboxId(param("sandboxID")));
  throw new AppError("aborted", `Sandbox ${id} is already running`, { reason: "already_running" });
};
