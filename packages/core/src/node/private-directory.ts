import { chmodSync, lstatSync, mkdirSync, readdirSync, type Stats } from "node:fs";
import { join } from "node:path";
import { AppError } from "../errors.ts";

/** The mask of processes that write into the data directory: what they make is its owner's alone. */
export const PRIVATE_UMASK = 0o077;

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

/**
 * Makes a directory that only its owner may enter, and takes from others what an earlier version left them: the directory itself and what lies
 * directly in it. Deeper entries are out of reach with that, and some of them are shown to sandboxes' users, who need their modes.
 *
 * Throws `failed_precondition`, reason `data_directory_owner`, when another user owns the directory, for that user could replace what is in it.
 */
export function makePrivateDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE });
  const { uid } = lstatSync(directory, { throwIfNoEntry: true });
  if (uid !== process.getuid?.()) {
    throw new AppError(
      "failed_precondition",
      `The directory ${directory} belongs to user ${uid}, who could replace what is in it: give it to root (chown root ${directory}), or choose another directory`,
      { reason: "data_directory_owner" },
    );
  }
  close(directory);
  for (const name of readdirSync(directory)) close(join(directory, name));
}

function close(path: string): void {
  let stat: Stats | undefined;
  try {
    stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined || stat.isSymbolicLink()) return;
    const mode = stat.mode & 0o777 & (stat.isDirectory() ? DIRECTORY_MODE : FILE_MODE);
    if ((stat.mode & 0o777) !== mode) chmodSync(path, mode);
  } catch (error) {
    // Another process has just removed it. (A read-only disk keeps its modes: the directory's own is what counts.)
    const { code } = error as { code?: unknown };
    if (code !== "ENOENT" && !(code === "EROFS" && stat !== undefined)) throw error;
  }
}
