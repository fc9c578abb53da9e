import type { CommandResult } from "./command-result.ts";
import type { Commands } from "./commands.ts";
import type { RequestOptions } from "./request-scope.ts";
export interface GitOpts extends RequestOptions {
    /** Who runs git; relative paths begin at this user's home directory. Default: the user of the template. */
    readonly user?: string | undefined;
    /** More environment variables for git. */
    readonly envs?: Readonly<Record<string, string>> | undefined;
    /** The command is killed after this many milliseconds; 0 means no limit. Default 60000. */
    readonly timeoutMs?: number | undefined;
}
/** For a server that asks who is there. Used for this one call: neither files, nor arguments, nor the environment of other programs hold them. */
export interface GitCredentials {
    /** Where tokens are used, often any name will do. */
    readonly username?: string | undefined;
    /** Password or token. */
    readonly password?: string | undefined;
}
/**
 * Runs git once.
 *
 * @param remote - URL that credentials are for; without it none are given.
 * @throws CommandExitError when git fails, with what it said.
 * @throws AuthenticationError with reason `git_credentials_missing` or `git_credentials_refused`.
 */
export declare function runGit(commands: Commands, args: readonly string[], opts: GitOpts, remote?: string, credentials?: GitCredentials): Promise<CommandResult>;
