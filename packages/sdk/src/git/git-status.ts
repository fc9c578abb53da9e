/** A file that differs from the last commit. */
export interface GitFileStatus {
  readonly path: string;
  /** Earlier path of the file, for a staged rename or copy. */
  readonly renamedFrom?: string;
  /** Difference between the last commit and the staged file. */
  readonly staged: GitChange | undefined;
  /** Difference between the staged file and the file in the working tree. */
  readonly unstaged: GitChange | undefined;
}

export type GitChange = "modified" | "added" | "deleted" | "renamed" | "copied" | "type_changed" | "conflicted" | "untracked";

export interface GitStatus {
  /** Undefined while no branch is checked out. */
  readonly branch: string | undefined;
  /** The remote branch that this branch tracks, e.g. `origin/main`. */
  readonly upstream: string | undefined;
  /** Number of commits that the upstream does not have; `behind` is the number that the branch does not have. */
  readonly ahead: number;
  readonly behind: number;
  readonly files: readonly GitFileStatus[];
  /** True when nothing differs from the last commit. */
  readonly clean: boolean;
}

const CHANGES: Readonly<Record<string, GitChange>> = {
  M: "modified",
  A: "added",
  D: "deleted",
  R: "renamed",
  C: "copied",
  T: "type_changed",
  U: "conflicted",
};

/** Reads `git status --porcelain=v2 --branch -z` (git-status(1), "Porcelain Format Version 2"). */
export function parseStatus(output: string): GitStatus {
  const records = output.split("\0");
  const files: GitFileStatus[] = [];
  let branch: string | undefined;
  let upstream: string | undefined;
  let ahead = 0;
  let behind = 0;
  for (let i = 0; i < records.length; i++) {
    const record = records[i] ?? "";
    const [kind, second = "", third = "", fourth = ""] = record.split(" ", 4);
    if (kind === "#") {
      if (second === "branch.head" && third !== "(detached)") branch = third;
      if (second === "branch.upstream") upstream = third;
      if (second === "branch.ab") [ahead, behind] = [Math.abs(Number(third)), Math.abs(Number(fourth))];
    } else if (kind === "1") files.push({ path: afterFields(record, 8), ...changes(second) });
    // The old name follows as a record of its own.
    else if (kind === "2") files.push({ path: afterFields(record, 9), renamedFrom: records[++i] ?? "", ...changes(second) });
    else if (kind === "u") files.push({ path: afterFields(record, 10), staged: "conflicted", unstaged: "conflicted" });
    else if (kind === "?") files.push({ path: record.slice(2), staged: undefined, unstaged: "untracked" });
  }
  return { branch, upstream, ahead, behind, files, clean: files.length === 0 };
}

const changes = (xy: string) => ({ staged: CHANGES[xy.charAt(0)], unstaged: CHANGES[xy.charAt(1)] });

/** A path may hold spaces; the fields before it do not. */
function afterFields(record: string, fields: number): string {
  let at = 0;
  for (let i = 0; i < fields; i++) at = record.indexOf(" ", at) + 1;
  return record.slice(at);
}
