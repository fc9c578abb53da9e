import { BoxyardError } from "@boxyard/sdk";
import { z } from "zod";

/** A failure with the next step for the agent. */
export class ToolError extends Error {
  override name = "ToolError";
  readonly next: string;

  constructor(message: string, next: string) {
    super(message);
    this.next = next;
  }
}

/** What an agent can do about a failure, by its reason, in words of the tools. */
const NEXT_STEP: Readonly<Record<string, string>> = {
  sandbox_not_found: "It has ended. `list` shows the sandboxes there are; `create` makes another.",
  sandbox_ended: "It has ended, with its files and commands. `create` makes another.",
  sandbox_not_running: "`list` shows its state; a paused one is resumed by the next tool that uses it.",
  template_not_found: "Omit `from` for the template `base`, or ask the user for a template or snapshot that exists.",
  process_not_found: "It has ended, and its output is gone. `processes` lists what runs; `run` starts it again.",
  file_not_found: "`read` of a directory lists it; `search` with `name` finds files.",
  permission_denied: "`run` with `user: root` can read and change any file.",
  not_enough_space: "Remove files in the sandbox with `run`.",
  unknown_user: "`root` always exists.",
  network_failed: "The server does not answer. Ask the user to start it (`boxyard up -d`), then try again.",
  server_restarted: "The sandbox and its commands go on. Call the tool again.",
  stream_dropped: "The command goes on. Call `wait` with its pid.",
  service_busy: "Nothing has changed. Call the tool again in a few seconds.",
  request_timeout: "It may have been done. Look (`list`, `processes`, `read`) before you call the tool again.",
};

const NEXT_BY_CODE: Readonly<Record<string, string>> = {
  unauthenticated: "Ask the user for a valid API key: `boxyard env --agent` prints the configuration.",
  permission_denied: "Ask the user: this API key may not do it, or a file belongs to another user (`run` with `user: root`).",
  resource_exhausted: "End what is not needed with `remove`, or wait and call the tool again.",
  unavailable: "Call the tool again in a few seconds.",
  aborted: "Call the tool again in a few seconds.",
  unimplemented: "This server cannot do it. Go on without it.",
};

/** What failed, and what to do next. */
export function explain(error: unknown): string {
  if (error instanceof ToolError) return `${error.message} ${error.next}`;
  if (error instanceof z.ZodError) return `The arguments are wrong: ${z.prettifyError(error)}\nCorrect them and call the tool again.`;
  const message = error instanceof Error ? error.message : String(error);
  const next = nextStep(error);
  const id = error instanceof BoxyardError && error.requestId !== undefined ? ` (request ${error.requestId})` : "";
  return `${/[.!?]$/.test(message) ? message : `${message}.`}${next === undefined ? "" : ` ${next}`}${id}`;
}

function nextStep(error: unknown): string | undefined {
  const { reason, code, details } = error as { reason?: unknown; code?: unknown; details?: { hint?: unknown } };
  // Failures to find or start the local server say themselves what to do.
  if (typeof details?.hint === "string") return details.hint;
  return (typeof reason === "string" ? NEXT_STEP[reason] : undefined) ?? (typeof code === "string" ? NEXT_BY_CODE[code] : undefined);
}
