import type { CommandResult } from "../commands/command-result.ts";
import { CommandExitError } from "../commands/command-result.ts";
import type { Commands } from "../commands/commands.ts";
import { ConflictError, InvalidArgumentError } from "../errors.ts";
import { type GitCredentials, type GitOpts, runGit } from "./git-run.ts";
import { type GitStatus, parseStatus } from "./git-status.ts";

export interface GitCloneOpts extends GitOpts, GitCredentials {
  /** Branch or tag to check out. Default: the default branch of the remote. */
  readonly branch?: string | undefined;
  /** Number of commits of the history. Default: all. */
  readonly depth?: number | undefined;
}

export interface GitInitOpts extends GitOpts {
  /** Name of the first branch. Default `main`. */
  readonly branch?: string | undefined;
  /** True: a repository without a working tree, to which other repositories push. */
  readonly bare?: boolean | undefined;
}

export interface GitCommitOpts extends GitOpts {
  /** Author and committer. Default: git's configuration in the sandbox. Without either, git refuses the commit. */
  readonly author?: { readonly name: string; readonly email: string } | undefined;
  /** True: commits even if nothing is staged. */
  readonly allowEmpty?: boolean | undefined;
}

/** Options of pull and push. */
export interface GitRemoteOpts extends GitOpts, GitCredentials {
  /** Default `origin`. */
  readonly remote?: string | undefined;
  /** Default: the branch that is checked out. */
  readonly branch?: string | undefined;
}

export interface GitPushOpts extends GitRemoteOpts {
  /** False: do not make the pushed branch the upstream. Default true. */
  readonly setUpstream?: boolean | undefined;
}

export interface GitBranches {
  readonly names: readonly string[];
  /** Undefined while no branch is checked out. */
  readonly current: string | undefined;
}

/**
 * Works with git repositories in a sandbox, by running its `git`. Credentials are used only for the call that they are passed to: git gets them from
 * a helper that answers only for that server, so that no file, argument or URL contains them.
 *
 * If git fails, methods throw a `CommandExitError` with its output; for refused or missing credentials, an `AuthenticationError` with the reason
 * `git_credentials_refused` or `git_credentials_missing`; for a branch without an upstream, a `ConflictError` with the reason `git_no_upstream`.
 */
export class Git {
  private readonly commands: Commands;

  constructor(commands: Commands) {
    this.commands = commands;
  }

  /** Clones a repository. Credentials in the URL are removed from it and used for this call. Default path: the last part of the URL. */
  async clone(url: string, path?: string, opts: GitCloneOpts = {}): Promise<void> {
    const { clean, credentials } = splitUrl(url, opts);
    const args = ["clone", "--quiet"];
    if (opts.branch !== undefined) args.push(`--branch=${opts.branch}`);
    if (opts.depth !== undefined) args.push(`--depth=${opts.depth}`);
    args.push("--", clean, ...(path === undefined ? [] : [path]));
    await runGit(this.commands, args, opts, clean, credentials);
  }

  /** Creates an empty repository. An existing repository is not an error. */
  async init(path: string, opts: GitInitOpts = {}): Promise<void> {
    const args = ["init", "--quiet", `--initial-branch=${opts.branch ?? "main"}`, ...(opts.bare ? ["--bare"] : []), "--", path];
    await runGit(this.commands, args, opts);
  }

  /** The branch that is checked out, and every file that differs from the last commit. */
  async status(path: string, opts: GitOpts = {}): Promise<GitStatus> {
    const { stdout } = await this.git(path, ["status", "--porcelain=v2", "--branch", "--untracked-files=all", "-z"], opts);
    return parseStatus(stdout);
  }

  /** Stages changes for the next commit. Default: all changes, including deletions and new files. */
  async add(path: string, files?: readonly string[], opts: GitOpts = {}): Promise<void> {
    await this.git(path, files === undefined ? ["add", "--all"] : ["add", "--", ...files], opts);
  }

  /** Commits what is staged. Resolves with the commit's hash. */
  async commit(path: string, message: string, opts: GitCommitOpts = {}): Promise<string> {
    const { author } = opts;
    const identity = author ? ["-c", `user.name=${author.name}`, "-c", `user.email=${author.email}`] : [];
    const args = [...identity, "commit", "--quiet", `--message=${message}`, ...(opts.allowEmpty ? ["--allow-empty"] : [])];
    await this.git(path, args, opts);
    return (await this.git(path, ["rev-parse", "HEAD"], opts)).stdout.trim();
  }

  /** The local branches. */
  async branches(path: string, opts: GitOpts = {}): Promise<GitBranches> {
    const { stdout } = await this.git(path, ["for-each-ref", "--format=%(HEAD)%(refname:short)", "refs/heads"], opts);
    const lines = stdout.split("\n").filter((line) => line.length > 1);
    return { names: lines.map((line) => line.slice(1)), current: lines.find((line) => line.startsWith("*"))?.slice(1) };
  }

  /** Creates a branch without checking it out. Default start: the commit that is checked out. */
  async createBranch(path: string, name: string, from?: string, opts: GitOpts = {}): Promise<void> {
    await this.git(path, ["branch", "--", name, ...(from === undefined ? [] : [from])], opts);
  }

  /** Deletes a branch; with `force`, also if no other branch has its commits. */
  async deleteBranch(path: string, name: string, opts: GitOpts & { readonly force?: boolean | undefined } = {}): Promise<void> {
    await this.git(path, ["branch", opts.force ? "-D" : "-d", "--", name], opts);
  }

  /** Switches to a branch, tag or commit; with `create` to a new branch of this name. */
  async checkout(path: string, ref: string, opts: GitOpts & { readonly create?: boolean | undefined } = {}): Promise<void> {
    notAnOption(ref);
    await this.git(path, ["checkout", "--quiet", ...(opts.create ? ["-b", ref] : [ref, "--"])], opts);
  }

  /** Fetches the commits of the upstream and moves the branch to them. Fails if both sides have commits that the other side does not have. */
  async pull(path: string, opts: GitRemoteOpts = {}): Promise<void> {
    const { remote, branch } = opts;
    if (branch === undefined) await this.requireUpstream(path, opts);
    const from = branch === undefined ? [] : [notAnOption(remote ?? "origin"), notAnOption(branch)];
    await this.withRemote(path, ["pull", "--quiet", "--ff-only", ...from], remote ?? "origin", [], opts);
  }

  /** Sends the branch's commits to the remote. */
  async push(path: string, opts: GitPushOpts = {}): Promise<void> {
    const { remote = "origin", branch = "HEAD", setUpstream = true } = opts;
    const args = ["push", "--quiet", ...(setUpstream ? ["--set-upstream"] : []), notAnOption(remote), notAnOption(branch)];
    await this.withRemote(path, args, remote, ["--push"], opts);
  }

  /** Adds a remote. Credentials in the URL are refused, because git would store them in a file. */
  async addRemote(path: string, name: string, url: string, opts: GitOpts = {}): Promise<void> {
    if (splitUrl(url, {}).clean !== url) {
      const message = "a remote's URL must hold no credentials: give them to pull and push";
      throw new InvalidArgumentError(message, { code: "invalid_argument", reason: "git_credentials_in_url" });
    }
    await this.git(path, ["remote", "add", "--", name, url], opts);
  }

  private async withRemote(path: string, args: string[], remote: string, which: string[], opts: GitRemoteOpts): Promise<void> {
    const { stdout } = await this.git(path, ["remote", "get-url", ...which, "--", remote], opts);
    await runGit(this.commands, ["-C", path, ...args], opts, stdout.trim(), opts);
  }

  private async requireUpstream(path: string, opts: GitOpts): Promise<void> {
    try {
      await this.git(path, ["rev-parse", "--quiet", "--verify", "@{upstream}"], opts);
    } catch (cause) {
      if (!(cause instanceof CommandExitError)) throw cause;
      const message = "git: this branch has no upstream: give remote and branch, or push with setUpstream first";
      throw new ConflictError(message, { code: "failed_precondition", reason: "git_no_upstream", cause });
    }
  }

  private git(path: string, args: readonly string[], opts: GitOpts): Promise<CommandResult> {
    return runGit(this.commands, ["-C", path, ...args], opts);
  }
}

/** A name that git would take for an option. */
function notAnOption(name: string): string {
  if (!name.startsWith("-")) return name;
  throw new InvalidArgumentError(`a name cannot begin with a dash: ${name}`, { code: "invalid_argument" });
}

/** A URL without what stands before its host, and that as credentials, unless the caller gave others. */
function splitUrl(text: string, given: GitCredentials): { clean: string; credentials: GitCredentials } {
  const credentials = { username: given.username, password: given.password };
  if (!/^https?:\/\//i.test(text)) return { clean: text, credentials };
  let url: URL;
  try {
    url = new URL(text);
  } catch (cause) {
    throw new InvalidArgumentError("git: this is not a URL", { code: "invalid_argument", reason: "git_url_invalid", cause });
  }
  if (!url.username && !url.password) return { clean: text, credentials };
  const [username, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  url.username = "";
  url.password = "";
  // A token alone stands where the name does.
  const inside = password ? { username, password } : { username: "token", password: username };
  return { clean: url.toString(), credentials: given.password ? credentials : inside };
}
