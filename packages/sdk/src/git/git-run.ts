import type { CommandResult } from "../commands/command-result.ts";
import { CommandExitError } from "../commands/command-result.ts";
import type { Commands } from "../commands/commands.ts";
import type { RequestOptions } from "../connection/request-scope.ts";
import { AuthenticationError, InvalidArgumentError } from "../errors.ts";

export interface GitOpts extends RequestOptions {
  /** User who runs git; relative paths begin at the user's home directory. Default: the user of the template. */
  readonly user?: string | undefined;
  /** Additional environment variables for git. */
  readonly envs?: Readonly<Record<string, string>> | undefined;
  /** The command is killed after this many milliseconds; 0 means no limit. Default 60000. */
  readonly timeoutMs?: number | undefined;
}

/** Credentials for a server that asks for them. They are used only for this call: no file, no argument and no other program's environment contains them. */
export interface GitCredentials {
  /** Many servers accept any name with a token. */
  readonly username?: string | undefined;
  /** Password or token. */
  readonly password?: string | undefined;
}

/** Marks what our credential helper says, in the program's standard error. */
const WANTED = "boxyard-git-credentials: wanted";
const REFUSED = "boxyard-git-credentials: refused";

/**
 * The helper that git asks. Its input says for which server, and `credential.<url>.helper` lets git ask it for that server only: a redirect
 * or a submodule elsewhere gets nothing. `erase` is git's way to say that what it was given did not work.
 */
const HELPER = `!f() {
  case "$1" in
    get) if [ -n "$BOXYARD_GIT_PASSWORD" ]; then printf 'username=%s\\npassword=%s\\n' "$BOXYARD_GIT_USERNAME" "$BOXYARD_GIT_PASSWORD"; else echo '${WANTED}' >&2; fi ;;
    erase) if [ -n "$BOXYARD_GIT_PASSWORD" ]; then echo '${REFUSED}' >&2; fi ;;
  esac
}; f`;

/** Reads the credentials from standard input, as they would otherwise stand in a list of commands, then becomes git. */
const SCRIPT = `IFS= read -r BOXYARD_GIT_USERNAME && IFS= read -r BOXYARD_GIT_PASSWORD || exit 125
export BOXYARD_GIT_USERNAME BOXYARD_GIT_PASSWORD
exec git "$@" </dev/null`;

/** Text that programs read must not depend on the language; nobody is there to answer a prompt. */
const ENVS = { GIT_TERMINAL_PROMPT: "0", LC_ALL: "C.UTF-8" };

/**
 * Runs git once.
 *
 * @param remote - URL that credentials are for; without it none are given.
 * @throws CommandExitError when git fails, with what it said.
 * @throws AuthenticationError with reason `git_credentials_missing` or `git_credentials_refused`.
 */
export async function runGit(
  commands: Commands,
  args: readonly string[],
  opts: GitOpts,
  remote?: string,
  credentials: GitCredentials = {},
): Promise<CommandResult> {
  const { username = "", password = "" } = credentials;
  if (/[\n\0]/.test(username + password)) {
    throw new InvalidArgumentError("git credentials must be single lines", { code: "invalid_argument", reason: "git_credentials_invalid" });
  }
  const host = remote === undefined ? undefined : serverOf(remote);
  // The user's own helpers come first when there are no credentials here, and are left out when there are.
  const own = password ? ["-c", "credential.helper="] : [];
  const config = host === undefined ? [] : [...own, "-c", `credential.${host}.helper=${HELPER}`, "-c", "credential.useHttpPath=false"];
  const { user, timeoutMs, requestTimeoutMs, signal } = opts;
  const envs = { ...ENVS, ...opts.envs };
  const handle = await commands.spawn(["/bin/sh", "-c", SCRIPT, "git", ...config, ...args], {
    user,
    timeoutMs,
    requestTimeoutMs,
    signal,
    envs,
    stdin: true,
  });
  try {
    await handle.sendStdin(`${username}\n${password}\n`);
    return await handle.wait();
  } catch (error) {
    if (error instanceof CommandExitError) throw explained(error, host);
    await handle.kill().catch(() => {});
    throw error;
  }
}

/** What git asks credentials for: scheme and host. Undefined where no password is used (a path, ssh). */
function serverOf(remote: string): string | undefined {
  try {
    const url = new URL(remote);
    return /^https?:$/.test(url.protocol) ? url.origin : undefined;
  } catch {
    return undefined;
  }
}

function explained(error: CommandExitError, host: string | undefined): Error {
  if (error.stderr.includes(REFUSED)) {
    const options = { code: "unauthenticated", reason: "git_credentials_refused", cause: error } as const;
    return new AuthenticationError(`git: ${host} refuses these credentials`, options);
  }
  if (error.stderr.includes(WANTED)) {
    const options = { code: "unauthenticated", reason: "git_credentials_missing", cause: error } as const;
    return new AuthenticationError(`git: ${host} asks for credentials: give username and password`, options);
  }
  return error;
}
