/** A file that differs from the last commit. */
export interface GitFileStatus {
    readonly path: string;
    /** Where it was before, of a rename or copy that is staged. */
    readonly renamedFrom?: string;
    /** What the next commit will hold, against the last one. */
    readonly staged: GitChange | undefined;
    /** What is in the working tree, against what is staged. */
    readonly unstaged: GitChange | undefined;
}
export type GitChange = "modified" | "added" | "deleted" | "renamed" | "copied" | "type_changed" | "conflicted" | "untracked";
export interface GitStatus {
    /** Undefined while no branch is checked out. */
    readonly branch: string | undefined;
    /** The branch elsewhere that this one follows, e.g. `origin/main`. */
    readonly upstream: string | undefined;
    /** Commits that the upstream does not have, and the other way round. */
    readonly ahead: number;
    readonly behind: number;
    readonly files: readonly GitFileStatus[];
    /** True when nothing differs from the last commit. */
    readonly clean: boolean;
}
/** Reads `git status --porcelain=v2 --branch -z` (git-status(1), "Porcelain Format Version 2"). */
export declare function parseStatus(output: string): GitStatus;
