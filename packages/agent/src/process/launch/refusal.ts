import { AppError } from "@boxyard/core";
import type { LaunchOrder } from "./order.ts";

const E2BIG = 7;
const EAGAIN = 11;
const ENOMEM = 12;
const EACCES = 13;
const EMFILE = 24;

/** The error for a step of launch that failed. `cwd` and `exec` depend on the request, other steps on the state of the sandbox. */
export function refusal(step: string, errno: number, order: LaunchOrder): AppError {
  if (step === "cwd") {
    const why = errno === EACCES ? "permission denied" : "it cannot be entered";
    return new AppError("invalid_argument", `error starting process '${order.command.join(" ")}': cwd '${order.cwd}': ${why}`, {
      reason: "bad_cwd",
    });
  }
  if (step === "exec" && errno === E2BIG) return tooLong();
  if (step === "tty") return new AppError("invalid_argument", "the sandbox has no terminal to give", { reason: "no_terminal" });
  if (errno === EAGAIN || errno === ENOMEM || errno === EMFILE) return processLimit();
  return launchFailed(`${step} failed with errno ${errno}`);
}

export function tooLong(): AppError {
  return new AppError("invalid_argument", "the arguments and environment are too long", { reason: "too_long" });
}

export function processLimit(cause?: unknown): AppError {
  const message = "the sandbox has reached its limit of processes or memory; end some of them and try again";
  return new AppError("resource_exhausted", message, { reason: "process_limit", cause });
}

export function launchFailed(why: string, cause?: unknown): AppError {
  return new AppError("internal", `the command could not be started: ${why}`, { reason: "launch_failed", cause });
}
