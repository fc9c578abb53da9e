import { AppError } from "@boxyard/core";
import { rmdirAt, statAt, TYPE, typeOf, unlinkAt } from "../sys/at.ts";
import { hasErrno } from "../sys/libc.ts";
import { runCommand } from "../sys/run.ts";
import { type Place, textName } from "./places.ts";
import { pathNotFound } from "./refusals.ts";

/**
 * Removes a file, or a directory with all in it. A directory that is not empty is removed by another process: it may hold millions of files, and be deeper
 * than this process can have files open. `rm` follows no link.
 */
export async function removeEntry({ directory, name }: Place): Promise<void> {
  const stat = statAt(directory, name);
  if (!stat) throw pathNotFound(textName(name));
  if (typeOf(stat) !== TYPE.directory) {
    unlinkAt(directory, name);
    return;
  }
  try {
    rmdirAt(directory, name);
  } catch (error) {
    if (!hasErrno(error, "ENOTEMPTY")) throw error;
    await removeTree(directory, name);
  }
}

async function removeTree(directory: number, name: string): Promise<void> {
  try {
    const options = ["--recursive", "--force", "--one-file-system"] as const;
    await runCommand(["rm", ...options, "--", `./${textName(name)}`], { cwd: `/proc/${process.pid}/fd/${directory}` });
  } catch (cause) {
    if (!statAt(directory, name)) return;
    const message = `${textName(name)} in the volume could not be removed whole, since others add files to it: try again`;
    throw new AppError("aborted", message, { reason: "volume_changed", cause });
  }
}
