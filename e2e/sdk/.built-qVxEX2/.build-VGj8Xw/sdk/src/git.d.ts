import type { Commands } from "./commands.ts";
import { type GitCredentials, type GitOpts } from "./git-run.ts";
import { type GitStatus } from "./git-status.ts";
export interface GitCloneOpts extends GitOpts, GitCredentials {
    /** Branch or tag to check out. Default: what the other side calls its own. */
    readonly branch?: string | undefined;
    /** Only so many commits of the history. Default: all. */
    readonly depth?: number | undefined;
}
export interface GitInitOpts extends GitOpts {
    /** Name of the first branch. Default `main`. */
    readonly branch?: string | undefined;
    /** True: a repository without a working tree, for others to push to. */
    readonly bare?: boolean | undefined;
}
export interface GitCommitOpts extends GitOpts {
    /** Author and committer. Default: what git is configured with in the sandbox; without either, git refuses. */
    readonly author?: {
        readonly name: string;
        readonly email: string;
    } | undefined;
    /** True: also when nothing has changed. */
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
 * Works with git repositories in a sandbox, by running its `git`. Credentials are used for the one call they are given to: git gets them from a
 * helper that answers for that server only, so that they stand in no file, no argument and no URL.
 *
 * A failing git is a `CommandExitError` with what it said; refused or missing credentials are an `AuthenticationError` with reason
 * `git_credentials_refused` or `git_credentials_missing`, a branch without upstream a `ConflictError` with reason `git_no_upstream`.
 */
export declare class Git {
    private readonly commands;
    constructor(commands: Commands);
    /** Copies a repository. Credentials inside the URL are taken out of it and used for this call. Default path: the URL's last part. */
    clone(url: string, path?: string, opts?: GitCloneOpts): Promise<void>;
    /** Makes an empty repository; no error where one is already. */
    init(path: string, opts?: GitInitOpts): Promise<void>;
    status(path: string, opts?: GitOpts): Promise<GitStatus>;
    /** Stages changes for the next commit. Default: all, also deletions and new files. */
    add(path: string, files?: readonly string[], opts?: GitOpts): Promise<void>;
    /** Commits what is staged. Resolves with the commit's hash. */
    commit(path: string, message: string, opts?: GitCommitOpts): Promise<string>;
    /** The branches there are here. */
    branches(path: string, opts?: GitOpts): Promise<GitBranches>;
    /** Makes a branch without checking it out. Default: from what is checked out. */
    createBranch(path: string, name: string, from?: string, opts?: GitOpts): Promise<void>;
    /** Deletes a branch; with `force` also one whose commits are in no other. */
    deleteBranch(path: string, name: string, opts?: GitOpts & {
        readonly force?: boolean | undefined;
    }): Promise<void>;
    /** Switches to a branch, tag or commit; with `create` to a new branch of this name. */
    checkout(path: string, ref: string, opts?: GitOpts & {
        readonly create?: boolean | undefined;
    }): Promise<void>;
    /** Fetches the upstream's commits and moves the branch to them. Fails where both sides have commits of their own. */
    pull(path: string, opts?: GitRemoteOpts): Promise<void>;
    /** Sends the branch's commits to the remote. */
    push(path: string, opts?: GitPushOpts): Promise<void>;
    /** Names another repository. Credentials in the URL are refused: git would keep them in a file. */
    addRemote(path: string, name: string, url: string, opts?: GitOpts): Promise<void>;
    private withRemote;
    private requireUpstream;
    private git;
}
