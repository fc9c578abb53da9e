import { BoxyardError } from "./errors.ts";
/** What a finished command left. */
export interface CommandResult {
    /** 0 is success; -1 says that a signal ended the command (`error` names it). */
    readonly exitCode: number;
    readonly stdout: string;
    readonly stderr: string;
    /** What the agent says about an end that was not a clean one, e.g. `exit status 1` or `signal: killed`. */
    readonly error?: string;
}
/** The command ended with another exit code than 0. It carries the whole result. */
export declare class CommandExitError extends BoxyardError implements CommandResult {
    name: string;
    readonly exitCode: number;
    readonly stdout: string;
    readonly stderr: string;
    readonly error?: string;
    constructor(result: CommandResult);
}
