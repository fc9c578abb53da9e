import { LIMITS } from "./limits.ts";

/** The agent's own log: the last lines, in memory. Its standard output belongs to a pipe inside the sandbox and must stay silent. */
export class LogRing {
  private lines: string[] = [];
  private readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  add(message: string, error?: unknown): void {
    const text = error === undefined ? message : `${message}: ${describe(error)}`;
    this.lines.push(`${new Date(this.now()).toISOString()} ${text.slice(0, LIMITS.logLineChars)}`);
    if (this.lines.length > LIMITS.logLines) this.lines.shift();
  }

  recent(): readonly string[] {
    return this.lines;
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message} (${describe(error.cause)})`;
}
