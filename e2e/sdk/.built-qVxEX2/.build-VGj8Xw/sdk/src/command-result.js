import { BoxyardError } from "./errors.js";
/** The command ended with another exit code than 0. It carries the whole result. */
export class CommandExitError extends BoxyardError {
    name = "CommandExitError";
    exitCode;
    stdout;
    stderr;
    error;
    constructor(result) {
        super(exitMessage(result), { code: "unknown", reason: "command_exit" });
        this.exitCode = result.exitCode;
        this.stdout = result.stdout;
        this.stderr = result.stderr;
        if (result.error !== undefined)
            this.error = result.error;
    }
}
function exitMessage(result) {
    const how = result.error ?? `exit status ${result.exitCode}`;
    const lastLines = result.stderr.trimEnd().slice(-2000);
    return lastLines ? `command failed: ${how}\n${lastLines}` : `command failed: ${how}`;
}
