import type { HttpRoute } from "./contracts.ts";
import { LIMITS } from "./limits.ts";

/** The agent's own log: the last lines, in memory. It is not written to standard output, which is a pipe inside the sandbox. */
export class LogRing {
  private lines: string[] = [];
  private readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  /** Adds a line, and returns its text. */
  add(message: string, error?: unknown): string {
    const text = error === undefined ? message : `${message}: ${describe(error)}`;
    this.lines.push(`${new Date(this.now()).toISOString()} ${text.slice(0, LIMITS.logLineChars)}`);
    if (this.lines.length > LIMITS.logLines) this.lines.shift();
    return text;
  }

  /** The lines, oldest first. */
  recent(): readonly string[] {
    return this.lines;
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message} (${describe(error.cause)})`;
}

/** `GET /boxyard/log`: the last lines of the agent's own log, oldest first. */
export function logRoute(log: LogRing): HttpRoute {
  return {
    method: "GET",
    path: "/boxyard/log",
    access: "token",
    handle: () => Response.json(log.recent(), { headers: { "Cache-Control": "no-store" } }),
  };
}
