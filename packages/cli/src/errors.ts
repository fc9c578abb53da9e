import { AppError } from "@boxyard/core";

/** Exit codes of boxyard's own failures; a remote command's exit code is passed on unchanged. */
export const EXIT = {
  failure: 1,
  usage: 2,
  /** As `docker run` and `docker exec` have it: boxyard failed, not the command. */
  ownFailure: 125,
  /** As `timeout(1)` does. */
  timeout: 124,
  /** 128 + SIGINT, SIGPIPE, SIGTERM. */
  interrupted: 130,
  brokenPipe: 141,
  terminated: 143,
} as const;

/** What a person can do next, by `reason`. */
const NEXT_STEP: Readonly<Record<string, string>> = {
  api_key_missing: "Set BOXYARD_API_KEY to a key of that server (on the server: boxyard env).",
  unauthenticated: "Check BOXYARD_API_KEY; `boxyard env` on the server's machine prints the right one.",
  network_failed: "Check BOXYARD_API_URL, or start a server with `boxyard up -d`.",
  unknown_user: "The user must exist in the sandbox; `--user root` always does.",
  template_not_found:
    "`boxyard template list` shows the templates there are; `boxyard template rebuild base` (or code-interpreter, mcp-gateway) builds one that comes with Boxyard again.",
  volume_name_taken: "`boxyard volume list` shows the volumes there are.",
  last_key: "`boxyard key create NAME` makes another.",
  key_not_found: "`boxyard key list` shows the keys there are.",
  build_failed: "The log above ends with the failed step; steps before it come from the cache at the next try.",
  dockerfile_unsupported: "docs/dockerfiles.md says what a Dockerfile for a template can have.",
  sandbox_not_found: "`boxyard sandbox list` shows the sandboxes there are.",
  sandbox_name_taken: "`boxyard sandbox list` shows who has it; `boxyard rm NAME` ends that sandbox.",
  sandbox_replaced: "`boxyard sandbox list` shows the sandbox that has the name now.",
  sandbox_ended: "It was killed or its time was up; `--timeout` of `sandbox create` gives it longer.",
  sandbox_not_running: "`boxyard sandbox list` shows the sandboxes there are.",
  not_enough_space:
    "Remove files in the sandbox, or build its template with a larger --disk; if its disk is not full, the server's machine is short of disk (`boxyard doctor`).",
};

/** Lines to print for an error: what failed, and what to do about it. Errors of the SDK and of our own have a `reason`. */
export function explain(error: unknown): string[] {
  const lines = [error instanceof Error ? error.message : String(error)];
  const { reason, requestId, details, code } = error as {
    reason?: unknown;
    requestId?: unknown;
    details?: { hint?: unknown };
    code?: unknown;
  };
  const ours =
    code === "ENOSPC" || code === "EDQUOT"
      ? "The disk of this machine to which it is written is full: free some space, then try again."
      : undefined;
  const hint = details?.hint ?? (typeof reason === "string" ? NEXT_STEP[reason] : ours);
  if (typeof hint === "string") lines.push(hint);
  if (typeof requestId === "string") lines.push(`(request ${requestId})`);
  return lines;
}

/** `failure` is the code of a failure that has none of its own. */
export function exitCodeOf(error: unknown, failure: number = EXIT.failure): number {
  const reason = (error as { reason?: unknown }).reason;
  if (reason === "broken_pipe") return EXIT.brokenPipe;
  if (reason === "command_timeout") return EXIT.timeout;
  return reason === "usage" && failure === EXIT.failure ? EXIT.usage : failure;
}

/** The command line itself is wrong. */
export function usageError(message: string): AppError {
  return new AppError("invalid_argument", message, { reason: "usage" });
}
