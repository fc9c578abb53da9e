import { BoxyardError } from "../errors.ts";

/** The result of a command. */
export interface CommandResult {
  /** 0: success; -1: a signal ended the command (`error` names it). */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** How the command ended, if not with exit code 0, e.g. `exit status 1` or `signal: killed`. */
  readonly error?: string;
}

/** The command ended with an exit code other than 0. The error has the members of the result. */
export class CommandExitError extends BoxyardError implements CommandResult {
  override name = "CommandExitError";
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly error?: string;

  constructor(result: CommandResult) {
    super(exitMessage(result), { code: "unknown", reason: "command_exit" });
    this.exitCode = result.exitCode;
    this.stdout = result.stdout;
    this.stderr = result.stderr;
    if (result.error !== undefined) this.error = result.error;
  }
}

function exitMessage(result: CommandResult): string {
  const how = result.error ?? `exit status ${result.exitCode}`;
  const lastLines = result.stderr.trimEnd().slice(-2000);
  return lastLines ? `command failed: ${how}\n${lastLines}` : `command failed: ${how}`;
}
